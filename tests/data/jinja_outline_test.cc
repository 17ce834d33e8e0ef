#include "worker/rank/data/jinja_outline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainctl::data {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(JinjaOutline, SpellingsOfOneExpressionAreOne) {
  for (const char* jinja : {R"({{ 'a' + "b\n" + message.role | trim }})",
                            R"({{-"ab"+'\n'+ message['role']|trim -}})"}) {
    EXPECT_THAT(OutlineOf(jinja).writes, ElementsAre("'ab\n'+message['role']|trim")) << jinja;
  }
  EXPECT_THAT(OutlineOf("{{ 'a + b  }} \\'c\\'' }}").writes, ElementsAre("'a + b  }} 'c''"));
}

TEST(JinjaOutline, WhatToolsAndQuestionsAddIsNotReached) {
  const JinjaOutline outline = OutlineOf(
      "{% if tools %}{{ a }}{% if x %}{{ b }}{% else %}{{ c }}{% endif %}{% else %}{{ d }}"
      "{% endif %}{% if loop.last and add_generation_prompt %}words{% else %}{{ e }}{% endif %}"
      "{% if tools or x %}{{ f }}{% elif message.role == 'tool' %}{% set g = 1 %}{% endif %}");
  EXPECT_THAT(outline.writes, ElementsAre("d", "e", "f"));
  EXPECT_THAT(outline.conditions, ElementsAre("tools or x"));
  EXPECT_THAT(outline.sets, IsEmpty());
  EXPECT_FALSE(outline.has_words);
  EXPECT_FALSE(outline.has_others);
}

TEST(JinjaOutline, SpaceIsDroppedAsTransformersDoes) {
  for (const char* jinja : {"{% for a in b %}\n  {% if c %}\n{{ d }}{% endif %}\n{% endfor %}\n",
                            "{{ a }}\n  {%- if b %}  {%- endif -%}  \n\n {{ c }}\n",
                            "{# words {{ #}\n  {# more #}\n{{ a }}"}) {
    EXPECT_FALSE(OutlineOf(jinja).has_words) << jinja;
  }
  for (const char* jinja :
       {"{{ a }}\n{{ b }}", "{% if a %} {% endif %}", "{{ a }}\n\n", "words", "{{ a }} {% if b %}"})
    EXPECT_TRUE(OutlineOf(jinja).has_words) << jinja;
}

TEST(JinjaOutline, OtherStatementsAndOpenEndsAreNamed) {
  for (const char* jinja : {"{% macro a() %}{% endmacro %}", "{% if a %}", "{% endif %}",
                            "{% else %}", "{% set a %}b{% endset %}", "{% for a in b %}"})
    EXPECT_TRUE(OutlineOf(jinja).has_others) << jinja;
  for (const char* jinja : {"{{ 'a", "{{", "{%", "{#", "{", "{{ a + '\\", "{%-%}", "{{-}}", ""})
    OutlineOf(jinja);  // ends
}

}  // namespace
}  // namespace trainctl::data
