#!/usr/bin/env python3
"""Makes the example data: instruction rows in Alpaca's format, all of our own making and all with
right answers.

usage: deploy/data/generate.py

It writes alpaca.json (400 rows) and alpaca_2k.json (2,000 rows, the labs' size) beside this file.
The same seed gives the same bytes on any Python 3. Every second row has an input; one in twenty is
long (500 tokens and more).
"""
import json
import pathlib
import random

SEED = 20240607
FILES = {"alpaca.json": 400, "alpaca_2k.json": 2000}  # rows

TERMS = {
    "photosynthesis": "the process by which plants turn light, water and carbon dioxide into sugar and oxygen",
    "gravity": "the force by which bodies with mass attract one another",
    "democracy": "a form of government in which the people choose those who govern them",
    "inflation": "a general rise of prices, by which money buys less over time",
    "an algorithm": "a finite list of exact steps that solves a kind of problem",
    "evaporation": "the change of a liquid into vapour below its boiling point",
    "a metaphor": "a figure of speech that names one thing to describe another",
    "biodiversity": "the variety of living things in a place",
    "an ecosystem": "the living things of a place together with their surroundings",
    "friction": "the force that resists the sliding of one surface over another",
    "a prime number": "a whole number above one that only one and itself divide",
    "recycling": "making new goods out of used material",
    "a glacier": "a large body of ice that moves slowly downhill under its own weight",
    "a peninsula": "land with water on three sides",
    "erosion": "the wearing away of soil and rock by water, wind or ice",
    "an eclipse": "the darkening of one heavenly body by the shadow of another",
    "a budget": "a plan of what will be earned and what will be spent",
    "a synonym": "a word that means nearly the same as another",
    "osmosis": "the passage of water through a membrane towards the stronger solution",
    "a hypothesis": "a supposed explanation that can be tested",
    "machine learning": "making programs that improve at a task by examples instead of by explicit rules",
    "a compiler": "a program that translates source code into machine code",
    "latency": "the time between a request and its answer",
    "a gradient": "the vector of a function's partial derivatives, which points where the function rises fastest",
    "overfitting": "learning the training examples so closely that new ones are predicted badly",
    "a habitat": "the place where a plant or an animal naturally lives",
    "a constitution": "the basic law by which a state is governed",
    "nostalgia": "a wistful longing for the past",
    "condensation": "the change of vapour into liquid as it cools",
    "an archipelago": "a group of islands",
}
CAPITALS = {
    "France": "Paris", "Japan": "Tokyo", "Kenya": "Nairobi", "Norway": "Oslo", "Portugal": "Lisbon", "Peru": "Lima", "Egypt": "Cairo",
    "Canada": "Ottawa", "Greece": "Athens", "Austria": "Vienna", "Hungary": "Budapest", "Poland": "Warsaw", "Ireland": "Dublin",
    "Finland": "Helsinki", "Denmark": "Copenhagen", "Sweden": "Stockholm", "Cuba": "Havana", "Chile": "Santiago", "Thailand": "Bangkok",
    "Vietnam": "Hanoi", "Mongolia": "Ulaanbaatar", "Ghana": "Accra", "Morocco": "Rabat", "Iceland": "Reykjavik", "Uruguay": "Montevideo",
    "Croatia": "Zagreb", "Bulgaria": "Sofia", "Romania": "Bucharest", "Senegal": "Dakar", "Nepal": "Kathmandu",
}
LISTS = {
    "fruits": ["apple", "pear", "plum", "cherry", "banana", "mango", "fig", "apricot", "peach", "grape"],
    "vegetables": ["carrot", "leek", "spinach", "potato", "onion", "cabbage", "celery", "turnip", "pumpkin", "radish"],
    "musical instruments": ["violin", "flute", "piano", "trumpet", "cello", "harp", "clarinet", "drum", "oboe", "guitar"],
    "tools": ["hammer", "saw", "chisel", "screwdriver", "plane", "wrench", "pliers", "file", "drill", "spade"],
    "birds": ["robin", "sparrow", "heron", "owl", "swallow", "eagle", "finch", "crane", "thrush", "gull"],
    "trees": ["oak", "birch", "maple", "pine", "willow", "ash", "cedar", "elm", "beech", "spruce"],
    "colours": ["red", "blue", "green", "yellow", "purple", "orange", "brown", "grey", "pink", "white"],
    "metals": ["iron", "copper", "silver", "gold", "tin", "zinc", "lead", "nickel", "aluminium", "titanium"],
    "occupations": ["baker", "nurse", "carpenter", "teacher", "pilot", "farmer", "plumber", "tailor", "editor", "mason"],
    "sports": ["tennis", "rowing", "fencing", "football", "judo", "swimming", "cycling", "archery", "hockey", "skiing"],
}
OPPOSITES = {
    "hot": "cold", "early": "late", "brave": "cowardly", "generous": "mean", "ancient": "modern", "scarce": "plentiful", "rough": "smooth",
    "noisy": "quiet", "shallow": "deep", "narrow": "wide", "expand": "contract", "accept": "refuse", "victory": "defeat",
    "arrive": "depart",
    "transparent": "opaque", "temporary": "permanent", "artificial": "natural", "cheerful": "gloomy", "rigid": "flexible",
    "include": "exclude",
}
PLURALS = {"mouse": "mice", "leaf": "leaves", "child": "children", "knife": "knives", "city": "cities", "tooth": "teeth", "ox": "oxen",
           "wolf": "wolves", "hero": "heroes", "crisis": "crises", "sheep": "sheep", "berry": "berries", "box": "boxes", "foot": "feet"}
PAST = {"walk": "walked", "write": "wrote", "sing": "sang", "carry": "carried", "bring": "brought", "teach": "taught", "find": "found",
        "paint": "painted", "build": "built", "sell": "sold", "read": "read", "draw": "drew"}
OBJECTS = {"walk": "to the market", "write": "a letter", "sing": "an old song", "carry": "the basket home", "bring": "bread and cheese",
           "teach": "the younger children", "find": "the lost key", "paint": "the garden fence", "build": "a small boat",
           "sell": "apples by the road", "read": "the morning paper", "draw": "a map of the valley"}
NAMES = ["Ada", "Bruno", "Clara", "David", "Elena", "Farid", "Grace", "Hana", "Ivan", "Julia", "Kofi", "Lena", "Marta", "Noor", "Oskar",
         "Priya"]
RUDE = {
    "Send me the report.": "Could you please send me the report?",
    "You are late again.": "I noticed that you arrived after the agreed time; is everything all right?",
    "Be quiet.": "Would you mind lowering your voice a little?",
    "Fix this today.": "Would it be possible for you to fix this today?",
    "That plan is bad.": "I see some difficulties with that plan; may I explain them?",
    "Move your car.": "Could you please move your car?",
    "I don't have time for this.": "I am rather busy at the moment; could we speak about it later?",
    "You forgot the keys.": "It seems that the keys were left behind.",
    "Give me a window seat.": "May I have a window seat, please?",
    "Answer my message.": "I would be grateful for an answer to my message.",
}
PRAISE = ["The staff were friendly", "The soup was excellent", "Delivery was fast", "The room was spotless", "The sound is clear",
          "Setting it up was easy", "The view was splendid", "The seats are comfortable"]
BLAME = ["The staff were rude", "The soup was cold", "Delivery took three weeks", "The room was dirty", "The sound crackles",
         "Setting it up was a nightmare", "The street was noisy all night", "The seats are far too hard"]
STEPS = {
    "boil an egg": ["Bring a small pot of water to the boil.", "Lower the egg in with a spoon.", "Wait seven minutes.",
                    "Cool the egg under cold water."],
    "make a cup of tea": ["Boil fresh water.", "Put the tea into the pot.", "Pour the water over it.", "Wait four minutes.",
                          "Pour the tea into a cup."],
    "change a bicycle tyre": ["Take the wheel off.", "Lever the tyre off the rim.", "Put the new tyre and tube on.", "Pump it up.",
                              "Put the wheel back."],
    "plant a tree": ["Dig a hole twice as wide as the roots.", "Set the tree in it upright.", "Fill the hole with soil.", "Water it well."],
    "write a thank-you note": ["Greet the person by name.", "Say what you are thankful for.", "Say what it meant to you.",
                               "Close warmly and sign."],
    "paint a wall": ["Clean the wall.", "Tape the edges.", "Apply a first coat.", "Let it dry.", "Apply a second coat.",
                     "Take the tape off."],
    "debug a program": ["Make the fault happen again.", "Shrink the input.", "Look at the first wrong value.", "Mend its cause.",
                        "Keep the case as a test."],
    "compare two training runs": ["Change one setting only.", "Use the same data and seed.", "Measure time and peak memory.",
                                  "Look at both beside the loss."],
}
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def row(instruction, output, given=""):
    return {"instruction": instruction, "input": given, "output": output}


def pick(rng, pool):
    return pool[rng.randrange(len(pool))]


def some(rng, pool, count):
    return rng.sample(pool, count)


def addition(rng):
    a, b = rng.randrange(10, 1000), rng.randrange(10, 1000)
    return pick(rng, [row(f"What is {a} + {b}?", f"{a} + {b} = {a + b}."), row("Add the two numbers.", str(a + b), f"{a}, {b}"),
                      row(f"Subtract {min(a, b)} from {max(a, b)}.", f"{max(a, b)} − {min(a, b)} = {abs(a - b)}.")])


def multiplication(rng):
    a, b = rng.randrange(3, 40), rng.randrange(3, 40)
    return pick(rng, [row(f"Multiply {a} by {b}.", f"{a} × {b} = {a * b}."),
                      row(f"How many times does {a} go into {a * b}?", f"{a * b} ÷ {a} = {b}, so {b} times.")])


def shopping(rng):
    name, item, count, price = pick(rng, NAMES), pick(rng, LISTS["fruits"]), rng.randrange(2, 13), rng.randrange(15, 95)
    total = count * price
    return row(f"{name} buys {count} pieces of {item} at {price} cents each. How much does {name} pay?",
               f"{count} × {price} cents = {total} cents, which is {total // 100}.{total % 100:02d} in all.")


def percentage(rng):
    percent, whole = pick(rng, [5, 10, 20, 25, 40, 50, 75]), rng.randrange(2, 60) * 20
    return row(f"What is {percent} % of {whole}?", f"{percent} % of {whole} is {percent * whole // 100}.")


def conversion(rng):
    n = rng.randrange(2, 120)
    return pick(rng, [
        row(f"Convert {n} kilometres to metres.", f"{n} kilometres are {n * 1000:,} metres."),
        row(f"Convert {n} hours to minutes.", f"{n} hours are {n * 60:,} minutes."),
        row(f"Convert {5 * n} degrees Celsius to Fahrenheit.", f"{5 * n} °C × 9/5 + 32 = {9 * n + 32} °F."),
        row("Convert to grams.", f"{n * 1000:,} g", f"{n} kg"),
        row(f"How many bytes are {n} KiB?", f"{n} KiB = {n} × 1,024 bytes = {n * 1024:,} bytes.")])


def definition(rng):
    term = pick(rng, list(TERMS))
    return pick(rng, [row(f"Define {term} in one sentence.", f"{term[0].upper()}{term[1:]} is {TERMS[term]}."),
                      row("What does the term mean?", f"It means {TERMS[term]}.", term),
                      row("Which term fits this description?", f"{term[0].upper()}{term[1:]}.",
                          TERMS[term][0].upper() + TERMS[term][1:] + ".")])


def capital(rng):
    country = pick(rng, list(CAPITALS))
    return pick(rng, [row(f"What is the capital of {country}?", f"The capital of {country} is {CAPITALS[country]}."),
                      row(f"Of which country is {CAPITALS[country]} the capital?", f"{CAPITALS[country]} is the capital of {country}.")])


def listing(rng):
    kind, count = pick(rng, list(LISTS)), rng.randrange(3, 6)
    return row(f"List {count} {kind}.", "\n".join(f"{i}. {name}" for i, name in enumerate(some(rng, LISTS[kind], count), 1)))


def odd_one_out(rng):
    kind, other = some(rng, list(LISTS), 2)
    stranger = pick(rng, LISTS[other])
    words = some(rng, LISTS[kind], 3) + [stranger]
    rng.shuffle(words)
    return row("Which word does not belong with the others, and why?", f"{stranger}: the others are {kind}.", ", ".join(words))


def opposite(rng):
    word = pick(rng, list(OPPOSITES))
    return pick(rng, [row(f"Give the opposite of “{word}”.", OPPOSITES[word]),
                      row(f"What is the opposite of “{OPPOSITES[word]}”?", word)])


def plural(rng):
    word = pick(rng, list(PLURALS))
    return row(f"Write the plural of “{word}”.", PLURALS[word])


def past_tense(rng):
    name, verb = pick(rng, NAMES), pick(rng, list(PAST))
    ending = "es" if verb in ("teach",) else "ies" if verb == "carry" else "s"
    present = (verb[:-1] if verb == "carry" else verb) + ending
    return row("Rewrite the sentence in the past tense.", f"{name} {PAST[verb]} {OBJECTS[verb]}.", f"{name} {present} {OBJECTS[verb]}.")


def politeness(rng):
    blunt = pick(rng, list(RUDE))
    return pick(rng, [row("Rewrite this more politely.", RUDE[blunt], blunt), row("Say the same in fewer words.", blunt, RUDE[blunt])])


def sorting(rng):
    numbers = some(rng, range(1, 500), rng.randrange(4, 9))
    words = some(rng, sum(LISTS.values(), []), rng.randrange(4, 7))
    return pick(rng,
                [row("Sort the numbers from the smallest to the largest.", ", ".join(map(str, sorted(numbers))),
                     ", ".join(map(str, numbers))),
                      row("Put the words into alphabetical order.", ", ".join(sorted(words)), ", ".join(words))])


def sequence(rng):
    start, step = rng.randrange(1, 50), rng.randrange(2, 15)
    shown = [start + i * step for i in range(5)]
    return row("Continue the sequence with the next two numbers.", f"{shown[-1] + step}, {shown[-1] + 2 * step}",
               ", ".join(map(str, shown)))


def sentiment(rng):
    good = rng.randrange(2) == 0
    sentences = some(rng, PRAISE if good else BLAME, 2)
    return row("Is this review positive or negative?", "Positive." if good else "Negative.", f"{sentences[0]}. {sentences[1]}.")


def steps(rng):
    task = pick(rng, list(STEPS))
    return row(f"Explain step by step how to {task}.", "\n".join(f"{i}. {text}" for i, text in enumerate(STEPS[task], 1)))


def weekday(rng):
    day, days = rng.randrange(7), rng.randrange(2, 40)
    return row(f"Today is {WEEKDAYS[day]}. Which day is it in {days} days?", f"In {days} days it is {WEEKDAYS[(day + days) % 7]}.")


def extraction(rng):
    name, city, item, count = pick(rng, NAMES), pick(rng, list(CAPITALS.values())), pick(rng, LISTS["tools"]), rng.randrange(2, 30)
    order = {"name": name, "city": city, "item": item, "count": count}
    return row("Turn the order into JSON with the keys name, city, item and count.", json.dumps(order),
               f"{name} from {city} orders {count} pieces of the article “{item}”.")


def letters(rng):
    word = pick(rng, [word for pool in LISTS.values() for word in pool])
    return pick(rng, [row(f"How many letters has the word “{word}”?", f"“{word}” has {len(word)} letters."),
                      row("Spell the word backwards.", word[::-1], word), row("Write the word in capital letters.", word.upper(), word)])


def ledger(rng):
    """Long: a page of bookings to add up."""
    lines, totals = [], {}
    for number in range(1, rng.randrange(45, 70)):
        name, item, price = pick(rng, NAMES), pick(rng, LISTS["tools"]), rng.randrange(5, 60)
        lines.append(f"{number}. {name}: {item}, {price} crowns.")
        totals[name] = totals.get(name, 0) + price
    name = max(sorted(totals), key=totals.get)
    return row("Who spent the most according to this ledger, and how much?", f"{name} spent the most: {totals[name]} crowns.",
               "\n".join(lines))


def table_of_products(rng):
    """Long: a multiplication table."""
    a, rows_ = rng.randrange(3, 90), rng.randrange(45, 70)
    return row(f"Write the first {rows_} lines of the multiplication table of {a}.",
               "\n".join(f"{a} × {i} = {a * i}" for i in range(1, rows_ + 1)))


SHORT = [addition, multiplication, shopping, percentage, conversion, definition, capital, listing, odd_one_out, opposite, plural,
         past_tense,
         politeness, sorting, sequence, sentiment, steps, weekday, extraction, letters]
LONG = [ledger, table_of_products]


def rows(count, seed):
    """Distinct rows; the order of kinds is drawn too."""
    rng, made = random.Random(seed), {}
    while len(made) < count:
        maker = pick(rng, LONG if rng.randrange(20) == 0 else SHORT)
        value = maker(rng)
        made.setdefault((value["instruction"], value["input"]), value)
    return list(made.values())


def text(count):
    lines = ",\n".join(json.dumps(value, ensure_ascii=False) for value in rows(count, SEED))
    return f"[\n{lines}\n]\n"


def main():
    here = pathlib.Path(__file__).resolve().parent
    for name, count in FILES.items():
        (here / name).write_text(text(count), encoding="utf-8")


if __name__ == "__main__":
    main()
