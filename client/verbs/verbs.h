// The makers of all verbs, one for each file of verbs/; the table is in verbs.cc.
#pragma once

#include <memory>

#include "client/verbs/verb.h"

namespace trainctl::client {

std::unique_ptr<Verb> MakeAdvise();
std::unique_ptr<Verb> MakeArtifacts();
std::unique_ptr<Verb> MakeCancel();
std::unique_ptr<Verb> MakeCompare();
std::unique_ptr<Verb> MakeCompletion();
std::unique_ptr<Verb> MakeDescribe();
std::unique_ptr<Verb> MakeDoctor();
std::unique_ptr<Verb> MakeExplain();
std::unique_ptr<Verb> MakeExport();
std::unique_ptr<Verb> MakeFence();
std::unique_ptr<Verb> MakeImport();
std::unique_ptr<Verb> MakeLogs();
std::unique_ptr<Verb> MakeMetrics();
std::unique_ptr<Verb> MakeRecipes();
std::unique_ptr<Verb> MakeResume();
std::unique_ptr<Verb> MakeStatus();
std::unique_ptr<Verb> MakeSubmit();
std::unique_ptr<Verb> MakeSweep();
std::unique_ptr<Verb> MakeWait();
std::unique_ptr<Verb> MakeWorkers();

}  // namespace trainctl::client
