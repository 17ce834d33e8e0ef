#include "worker/rank/data/prompt.h"

#include <gtest/gtest.h>

namespace trainctl::data {
namespace {

TEST(AlpacaPrompt, WithoutInput) {
  EXPECT_EQ(AlpacaPrompt("Name a colour.", ""),
            "Below is an instruction that describes a task. Write a response that appropriately "
            "completes the request.\n"
            "\n"
            "### Instruction:\n"
            "Name a colour.\n"
            "\n"
            "### Response:\n");
}

TEST(AlpacaPrompt, WithInput) {
  EXPECT_EQ(AlpacaPrompt("Translate.\n", " Hola "),
            "Below is an instruction that describes a task, paired with an input that provides "
            "further context. Write a response that "
            "appropriately completes the request.\n"
            "\n"
            "### Instruction:\n"
            "Translate.\n"
            "\n"
            "\n"
            "### Input:\n"
            " Hola \n"
            "\n"
            "### Response:\n");
}

}  // namespace
}  // namespace trainctl::data
