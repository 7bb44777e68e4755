// Everything there is to do or to go to, by what somebody types: actions of the menus, states, phases, alerts
// and resources by a few letters of their names, and times. No widgets but the menus it reads.
//
// WHAT FITS. A text in which the typed characters come in this order; blanks between them do not count, and
// ASCII letters match in both cases. What is better comes first: the whole text, a whole word of it, its
// begin, the begin of a word, something in one piece, then what has the typed characters in fewer pieces. Of
// equals, actions come before states, phases, alerts and resources, each in the order in which menus, lists
// and the picture have them: so the same letters always find the same. A time comes before all, and so
// does what a pattern (margay/wire/filter.h: "MPI_*", "family:wait", "!*rank6") would leave of states and
// resources, where it names some.
//
// Thread safety: none; belongs to the thread of the window. Ownership: borrows the session and the menus.
// Cost: find() is linear in the text of all there is, and sorts kMostFound.
// Memory: the names of states, phases and alerts; of resources only those that are found.
#pragma once

#include <QMenuBar>
#include <QString>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "session.h"

namespace margay::viewer {

// How well it fits, less is better; nothing: it does not. Everything fits nothing typed, with 0.
std::optional<int> fits(std::string_view text, std::string_view typed);

// Selects it, unfolded and scrolled into sight; a search that leaves it out ends. Of a node that the picture
// does not have nothing happens.
void go_to_resource(Session& session, const std::string& path);

// A property of actions: whoever types what is in the name of a state as well means the state.
inline constexpr const char* kGivesWay = "gives way to names";

struct Command {
  QString text;    // "/node1/rank6"
  QString beside;  // its keys, or what it is
  std::function<void()> run;
};

class Commands {
 public:
  static constexpr std::size_t kMostFound = 50;

  // What is the window's to do.
  struct Deeds {
    std::function<void(const std::string&)> choose_state;
    std::function<void(const QString&)> go_to_alert;  // by its id
  };
  // Actions are those in `menus` that can be chosen, but for `itself`.
  Commands(Session& session, const QMenuBar& menus, const QAction* itself, Deeds deeds);

  struct Found {
    std::vector<Command> shown;  // the best kMostFound
    std::size_t more = 0;        // that fit as well
  };
  Found find(const QString& typed) const;

 private:
  Session& session_;
  const QMenuBar& menus_;
  const QAction* itself_;
  Deeds deeds_;
};

}  // namespace margay::viewer
