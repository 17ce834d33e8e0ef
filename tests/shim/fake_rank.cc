// fake_rank SCRIPT: see rank_script.h.
#include "tests/shim/rank_script.h"

int main(int argc, char** argv) { return argc == 2 ? trainctl::tests::RunRankScript(argv[1]) : 64; }
