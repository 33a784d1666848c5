#pragma once

// The environment of a Python backend: an interpreter as it is, or a virtual environment that is
// made once for what it is made of, kept in the cache and used again without a network.

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "controller/python_interpreter.h"

namespace assay::controller {

struct PythonWish {
  std::string interpreter;             // --python; "": not named
  std::filesystem::path requirements;  // --requirements; empty: not named
  std::filesystem::path backend;       // its folder, which may hold requirements.txt
};

struct PythonRoom {
  std::filesystem::path cache;                  // environments lie in <cache>/python
  std::filesystem::path logs;                   // of this run: what interpreters print when asked
  const std::atomic<bool>* stop = nullptr;      // set when the user interrupts; never null
  std::function<void(const std::string&)> say;  // a line for the user
};

struct PythonEnvironment {
  PythonInterpreter interpreter;                 // the one that runs the backend
  std::map<std::string, std::string> variables;  // of its processes
  std::string hash;                              // of what it was made of; "": taken as it is
  std::filesystem::path requirements;            // empty: none
  std::filesystem::path log;                     // of its making; empty: it was not made
  std::vector<std::string> notes;                // for the report
};

// Requirements are met by an environment of their own, on the named interpreter or on python3;
// without requirements, and with an interpreter that is named and no --requirements, that one is
// taken as it is and must have numpy, which Assay's host needs. An environment that is made has it.
//
// kCancelled; or what is the matter, with the installer's reason and the ways out.
Result<PythonEnvironment> find_or_make_environment(const PythonWish& wish, const PythonRoom& room);

// What an environment is known by: the text of its requirements, that of the files they include,
// and the interpreter. Another file name or order of keys changes nothing.
std::string environment_hash(const std::string& requirements, const PythonInterpreter& base);

// The requirements file with the files that it includes ("-r FILE", "-c FILE"), one after another.
Result<std::string> requirements_text(const std::filesystem::path& file);

// What an installer gives as its reason: its error lines, without repetition; its last lines when
// it has none.
std::string installer_reason(const std::string& log_text);

}  // namespace assay::controller
