#pragma once

// Violations of the boundary's contract, one at a time, for tests of those who look for them. Named
// by WRAPPER_FAULT in the environment, since some come before there are any options. What each does
// stands at its name in contract.cc and contract_calls.cc.

#include <memory>
#include <string>

#include "assay/backend.hpp"
#include "fault.h"

namespace wrapper {

// Is this the violation that was asked for?
bool planted(const char* name);

// Before and after the wrapped backend does the same; they throw to refuse.
void contract_entry();
void contract_probed();
void before_compile(const assay::backend::Document& configs);
std::string after_compile(const std::string& artifact_folder, std::string result);
void contract_created();
void before_load(bool was_loaded, const std::string& artifact_folder);
void load_failed();
void after_load(const assay::backend::Signature& signature);
void contract_closed(const std::string& artifact_folder);

// What version says of a call to it.
std::string contract_version_suffix();

// A fault of infer, or null.
std::unique_ptr<Fault> make_contract_fault();

}  // namespace wrapper
