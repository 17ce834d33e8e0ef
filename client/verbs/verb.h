// A verb of trainctl: what it accepts, and what it does. To add one: a file in verbs/ with a class
// and a maker, and its row in verbs.cc.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "client/arguments.h"
#include "client/context.h"

namespace trainctl::client {

class Verb {
 public:
  virtual ~Verb() = default;
  virtual void Declare(Arguments& arguments) = 0;
  virtual int Run(Context& context) = 0;  // returns the exit code
  // Whether it ends where what names the site is wrong. Not so who puts that right.
  virtual bool NeedsSite() const { return true; }
  // Whether -o chooses the form of its answer. Not so of a script, and of what other programs say.
  virtual bool HasFormats() const { return true; }
};

struct VerbRow {
  std::string_view name;
  std::string_view summary;
  std::string_view examples;  // lines that begin with two spaces
  std::unique_ptr<Verb> (*make)();
};

// In the order of the help.
std::span<const VerbRow> Verbs();
const VerbRow* FindVerb(std::string_view name);

}  // namespace trainctl::client
