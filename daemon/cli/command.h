// A command of `margay`: a row of the table in commands.def. Its folder has the rest: what it takes, what it
// does.
//
// What a job needs beside it is in the program margay itself; what is done with archives is in the program
// margay-archive, which margay becomes (exec) where it is asked for such a command: it is most of the code,
// and need not be built, nor loaded, before a job can be watched.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace margay::app {

struct Command {
  std::string name;
  std::string about;  // what it does, in half a line: for the page of `margay --help`
  // Empty where the command is in the other program. Tells `command` its page of help, flags and arguments.
  // What comes back does what was asked for, once they are parsed, and is called once at most: the exit code
  // of `margay`.
  std::function<std::function<int()>(CLI::App& command)> declare;
};

// A row of a folder's two functions: add(command, request) has the flags set members of `request`,
// run(request) does what it says.
template <class Request>
Command command(const char* name, const char* about, void (*add)(CLI::App&, Request&),
                int (*run)(const Request&)) {
  return {name, about, [add, run](CLI::App& app) {
            auto request = std::make_shared<Request>();
            add(app, *request);
            return std::function<int()>([run, request] { return run(*request); });
          }};
}

// All of them, in the order of the help; a program has its own.
std::vector<Command> commands();

}  // namespace margay::app
