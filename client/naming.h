// What the words of a command line mean: ids, and names, which several jobs may have. The
// coordinator takes the newest of a name; here people hear of it.
#pragma once

#include <string>
#include <vector>

#include "client/context.h"

namespace trainctl::client {

// A job or group that has a name. Of a group: it ended when all its jobs did.
struct Namesake {
  std::string id;
  bool ended = false;
};

// Who has the name, the newest first: groups, or jobs where no group has it. Empty where the word
// is an id, or the coordinator does not answer: the request itself says so then.
std::vector<Namesake> FindNamesakes(Context& context, const std::string& word);

// kNotFound: no job or group is called so. Of one word with the nearest of the names that the
// newest jobs and their groups have.
base::Error NoSuchJob(Context& context, const std::vector<std::string>& words);

// "2 jobs have the name 'twin': j22, j21".
std::string NamesakesText(const std::string& word, const std::vector<Namesake>& namesakes);

// Says on stderr which of several with the name is meant, and returns its id.
std::string SayMeant(Context& context, const std::string& word,
                     const std::vector<Namesake>& namesakes, const Namesake& meant);

// The word to ask for. Where several have the name it is the newest's id, with a note on stderr.
std::string NewestMeant(Context& context, const std::string& word);
std::vector<std::string> NewestMeant(Context& context, const std::vector<std::string>& words);

}  // namespace trainctl::client
