// Where a test finds the checkout's files and the programs that were built from them.
//
// The paths are compiled into checkout.cc alone. All other objects are the same in every clone,
// so that ccache shares them. All paths are absolute. Thread-safe.
#pragma once

#include <string>

namespace trainctl::checkout {

// Returns the path of a file or folder of the checkout: File("deploy/recipes").
std::string File(const std::string& path_below_the_checkout);

// Returns the path of a program of the product: Program("trainshim").
std::string Program(const std::string& name);

// Returns the path of a program that stands in for one of the product: TestProgram("fake_rank").
std::string TestProgram(const std::string& name);

}  // namespace trainctl::checkout
