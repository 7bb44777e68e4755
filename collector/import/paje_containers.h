// The containers of a Pajé trace, and the leaves that they become for a consumer.
//
// A container has one leaf for each state type that its type has when it is created, and one for any other
// state type with its first state. What else happens in it (variables, events, links) goes to its first leaf;
// where it has none, to one that is Absent all the time. Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "margay/trace/trace.h"
#include "paje_names.h"
#include "paje_types.h"

namespace margay::trace::paje {

inline constexpr std::size_t kMostContainers = 1 << 20;  // in all, those destroyed among them
inline constexpr std::size_t kDeepestPath = 64;          // names from the root to a container
inline constexpr std::size_t kDeepestStates = 1000;      // open at a time in one leaf

struct OpenLeaf {
  LeafIndex index{};
  std::uint32_t type = kNone;        // its state type; kNone: it has no states
  std::vector<std::uint16_t> stack;  // names of the open states, outermost first
};

struct Container {
  std::uint32_t type = Types::kRoot;
  std::uint32_t parent = 0;
  std::uint32_t depth = 0;  // names in its path; 0 for the root
  bool alive = true;
  std::string name;
  std::vector<OpenLeaf> leaves;
  struct Variable {
    std::uint32_t type;
    std::uint16_t name;
    double value;
  };
  std::vector<Variable> variables;
};

class Containers {
 public:
  static constexpr std::uint32_t kRoot = 0;
  explicit Containers(Types& types);

  // A new container below `parent`; its leaves come later. Errors: kInvalidArgument (there is one), kLimit.
  Result<std::uint32_t> create(std::string_view alias, std::string_view name, std::uint32_t type,
                               std::uint32_t parent);
  // kNone: there is none. One that was destroyed is found until another one has its name.
  std::uint32_t find(std::string_view text) const {
    if (const std::uint32_t c = aliases_.find(text, 0); c != kNone) return c;
    return names_.find(text, 0);
  }
  Container& operator[](std::uint32_t c) { return all_[c]; }
  const Container& operator[](std::uint32_t c) const { return all_[c]; }
  std::size_t size() const { return all_.size(); }
  std::uint32_t leaves() const { return leaves_; }
  bool is_below(std::uint32_t c, std::uint32_t above) const;

  // Tells the consumer of a leaf of `c` for states of `state_type` (kNone: for none). Errors: those of the
  // consumer, kLimit.
  Result<OpenLeaf*> add_leaf(std::uint32_t c, std::uint32_t state_type, Consumer& consumer);
  // What a leaf of the container is called: its path, the types on it ("type" and the number of names up to
  // there), its state type.
  model::Attributes attributes(std::uint32_t c, std::uint32_t state_type) const;

 private:
  // The names from the root to it.
  std::vector<std::string> path(std::uint32_t c) const;

  Types& types_;
  std::vector<Container> all_;
  NameMap aliases_, names_;
  std::uint32_t leaves_ = 0;
};

}  // namespace margay::trace::paje
