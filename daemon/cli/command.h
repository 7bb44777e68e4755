// A command of `margay`: a row of the table in commands.def. Its folder has the rest: what it takes, what it
// does, and Declare declare_NAME().
//
// What a job needs beside it is in the program margay itself. What shows a running job is in the program
// margay-watch, what is done with archives in margay-archive: margay becomes (exec) the one that has the
// command that it is asked for. They are most of the code, and need not be built, nor loaded, before a job
// can be watched.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace margay::daemon {

// Tells `command` its page of help, flags and arguments. What comes back does what was asked for, once they
// are parsed, and is called once at most: the exit code of `margay`.
using Declare = std::function<std::function<int()>(CLI::App& command)>;

struct Command {
  std::string name;
  std::string about;    // what it does, in half a line: for the page of `margay --help`
  Declare declare;      // empty where another program has the command
  std::string program;  // that program, of libexec/margay
};

// Of a folder's two functions: add(command, request) has the flags set members of `request`, run(request)
// does what it says.
template <class Request>
Declare declare(void (*add)(CLI::App&, Request&), int (*run)(const Request&)) {
  return [add, run](CLI::App& app) {
    auto request = std::make_shared<Request>();
    add(app, *request);
    return std::function<int()>([run, request] { return run(*request); });
  };
}

// All of them, in the order of the help; a program has its own.
std::vector<Command> commands();

}  // namespace margay::daemon
