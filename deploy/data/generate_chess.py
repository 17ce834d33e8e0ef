#!/usr/bin/env python3
"""Makes chess.jsonl: games of our own making, {"text": …}, a line a game, for the chess lab.

usage: deploy/data/generate_chess.py        writes chess.jsonl (1,024 games) beside this file

A game is a random walk: 1. e2e4 g8f6 2. … in coordinates, each a move that the piece can make on
the board as it stands, of a length that is drawn. Nobody looks at checks, but kings are not taken;
castling and en passant do not occur. The same seed gives the same bytes on any Python 3.
"""

import json
import pathlib
import random

SEED = 20240608
GAMES = 1024
SHORTEST, LONGEST = (
    25,
    75,
)  # moves, of both sides each; more than 52 fill 512 tokens of deploy/models/tokenizer.json

DIAGONAL = [(-1, -1), (-1, 1), (1, -1), (1, 1)]
STRAIGHT = [(-1, 0), (1, 0), (0, -1), (0, 1)]
JUMPS = [(-2, -1), (-2, 1), (-1, -2), (-1, 2), (1, -2), (1, 2), (2, -1), (2, 1)]
RIDERS = {"b": DIAGONAL, "r": STRAIGHT, "q": DIAGONAL + STRAIGHT}
STEPPERS = {"n": JUMPS, "k": DIAGONAL + STRAIGHT}


def first_board():
    """(file, rank) → piece; capital letters are White's."""
    board = {}
    for file, piece in enumerate("rnbqkbnr"):
        board |= {(file, 0): piece.upper(), (file, 1): "P", (file, 6): "p", (file, 7): piece}
    return board


def is_on_board(square):
    return 0 <= square[0] < 8 and 0 <= square[1] < 8


def can_take(board, square, is_white):
    """An enemy stands there, and not the king."""
    return square in board and board[square] not in "Kk" and board[square].isupper() != is_white


def rides(board, square, directions, is_white):
    for d_file, d_rank in directions:
        to = (square[0] + d_file, square[1] + d_rank)
        while is_on_board(to) and to not in board:
            yield to
            to = (to[0] + d_file, to[1] + d_rank)
        if can_take(board, to, is_white):
            yield to


def steps(board, square, offsets, is_white):
    for d_file, d_rank in offsets:
        to = (square[0] + d_file, square[1] + d_rank)
        if is_on_board(to) and to not in board or can_take(board, to, is_white):
            yield to


def pawn_moves(board, square, is_white):
    file, rank = square
    ahead, home = (1, 1) if is_white else (-1, 6)
    if (file, rank + ahead) not in board:
        yield (file, rank + ahead)
        if rank == home and (file, rank + 2 * ahead) not in board:
            yield (file, rank + 2 * ahead)
    for to in ((file - 1, rank + ahead), (file + 1, rank + ahead)):
        if can_take(board, to, is_white):
            yield to


def targets(board, square):
    piece, is_white = board[square].lower(), board[square].isupper()
    if piece == "p":
        return list(pawn_moves(board, square, is_white))
    if piece in RIDERS:
        return list(rides(board, square, RIDERS[piece], is_white))
    return list(steps(board, square, STEPPERS[piece], is_white))


def choose(board, is_white, rng):
    """(from, to) of a piece drawn at random that can move; a capture is taken as often as not."""
    squares = [square for square, piece in board.items() if piece.isupper() == is_white]
    rng.shuffle(squares)
    for square in squares:
        reached = targets(board, square)
        captures = [to for to in reached if to in board]
        if captures and rng.randrange(2) == 0:
            reached = captures
        if reached:
            return square, reached[rng.randrange(len(reached))]
    return None


def name(square):
    return "abcdefgh"[square[0]] + str(square[1] + 1)


def play(board, move):
    """Makes the move, returns its name: e2e4, or a7a8q of a pawn that becomes a queen."""
    start, to = move
    piece = board.pop(start)
    becomes_queen = piece in "Pp" and to[1] in (0, 7)
    board[to] = ("Q" if piece == "P" else "q") if becomes_queen else piece
    return name(start) + name(to) + ("q" if becomes_queen else "")


def game(rng):
    board, words = first_board(), []
    for half_move in range(2 * rng.randrange(SHORTEST, LONGEST)):
        move = choose(board, half_move % 2 == 0, rng)
        if move is None:
            break
        words += [f"{half_move // 2 + 1}."] if half_move % 2 == 0 else []
        words.append(play(board, move))
    return " ".join(words)


def text():
    rng = random.Random(SEED)
    return "".join(json.dumps({"text": game(rng)}) + "\n" for _ in range(GAMES))


if __name__ == "__main__":
    (pathlib.Path(__file__).resolve().parent / "chess.jsonl").write_text(text(), encoding="utf-8")
