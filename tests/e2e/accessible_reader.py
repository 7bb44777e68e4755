#!/usr/bin/python3
"""What assistive technology hears of a program: a table of its window, through AT-SPI alone (python3-pyatspi, Debian's Python).

  dbus-run-session -- python3 accessible_reader.py PROGRAM ARGUMENT...

Starts the program, and answers each line on stdin (words between tabs) with a line "= JSON". null: there is no such table (yet).

  read NAME [ROWS]       description of the table; of each row its description and cells, [name, columns that it spans]; columns;
                         of so many rows at most
  description NAME       of whatever is called so, a table or not
  select NAME ROW        whether the row was selected
  press NAME ROW COLUMN  whether the cell was pressed
  cell NAME ROW COLUMN   name, description, role, states; null: there is no such place
  extent NAME ROW COLUMN columns that the cell there spans
  focus NAME             whether a window of the program has the keyboard now: without a window manager nobody gives it away
  key NAME KEYSYM        null; the key is pressed, as on a keyboard
  heard NAME             names of what has got the focus since the program was started
  code                   null while the program runs, then its exit code
  quit                   ends the program; its exit code
"""
import ctypes
import json
import subprocess
import sys

import pyatspi
from gi.repository import GLib

DEEPEST = 12  # a window's widgets lie no deeper
heard = []


def find(of, name, any_role=False, depth=0):
    """The table of that name, or whatever is called so."""
    if of is None or depth > DEEPEST:
        return None
    table = of.getRole() == pyatspi.ROLE_TABLE
    if of.name == name and (table or any_role):
        return of
    for i in range(0 if table else of.childCount):  # a table has no tables in it, but maybe many children
        if found := find(of.getChildAtIndex(i), name, any_role, depth + 1):
            return found
    return None


def read(accessible, most):
    table = accessible.queryTable()
    rows = []
    for row in range(min(table.nRows, most)):
        cells, column = [], 0
        while column < table.nColumns:
            span = table.getColumnExtentAt(row, column)
            cells.append([table.getAccessibleAt(row, column).name, span])
            column += max(1, span)
        rows.append({"description": table.getRowDescription(row), "cells": cells})
    return {"description": accessible.description, "rows": rows,
            "columns": [table.getColumnDescription(column) for column in range(table.nColumns)]}


def focus(title):
    """Gives the keyboard to the window of that title."""
    x = ctypes.CDLL("libX11.so.6")
    pointer, window, number = ctypes.c_void_p, ctypes.c_ulong, ctypes.c_uint
    x.XOpenDisplay.restype, x.XOpenDisplay.argtypes = pointer, [ctypes.c_char_p]
    x.XDefaultRootWindow.restype, x.XDefaultRootWindow.argtypes = window, [pointer]
    x.XQueryTree.argtypes = [pointer, window, *[ctypes.POINTER(window)] * 2, ctypes.POINTER(ctypes.POINTER(window)), ctypes.POINTER(number)]
    x.XFetchName.argtypes = [pointer, window, ctypes.POINTER(ctypes.c_char_p)]
    x.XSetInputFocus.argtypes = [pointer, window, ctypes.c_int, ctypes.c_ulong]
    x.XCloseDisplay.argtypes = [pointer]
    display = x.XOpenDisplay(None)
    root, parent, children, count = window(), window(), ctypes.POINTER(window)(), number()
    x.XQueryTree(display, x.XDefaultRootWindow(display), root, parent, children, count)
    for child in children[:count.value]:
        name = ctypes.c_char_p()
        if x.XFetchName(display, child, name) and name.value.decode() == title:
            x.XSetInputFocus(display, child, 2, 0)  # RevertToParent, CurrentTime
    x.XCloseDisplay(display)


def answer(process, words):
    if words[0] == "heard":
        while GLib.MainContext.default().iteration(False):
            pass
        return heard
    if words[0] == "key":
        return pyatspi.Registry.generateKeyboardEvent(int(words[2]), None, pyatspi.KEY_SYM)
    if words[0] == "code":
        return process.poll()
    if words[0] == "quit":
        process.terminate()
        return process.wait()
    # The desktop's list of programs, and what is known of them, is of an earlier question.
    desktop = pyatspi.Registry.getDesktop(0)
    desktop.clearCache()
    program = next((p for p in desktop if p is not None and p.get_process_id() == process.pid), None)
    accessible = find(program, words[1], words[0] == "description")
    if accessible is None:
        return None
    accessible.clearCache()
    if words[0] == "focus":
        window = next(w for w in program if w.getState().contains(pyatspi.STATE_SHOWING))
        window.clearCache()
        focus(window.name)
        return window.getState().contains(pyatspi.STATE_ACTIVE)
    if words[0] == "description":
        return accessible.description
    if words[0] == "read":
        return read(accessible, int(words[2]) if len(words) > 2 else sys.maxsize)
    if words[0] == "select":
        return accessible.queryTable().addRowSelection(int(words[2]))
    if words[0] == "extent":
        return accessible.queryTable().getColumnExtentAt(int(words[2]), int(words[3]))
    cell = accessible.queryTable().getAccessibleAt(int(words[2]), int(words[3]))
    if cell is None:
        return None
    if words[0] == "press":
        return cell.queryAction().doAction(0)
    return {"name": cell.name, "description": cell.description, "role": cell.getRoleName(),
            "states": [pyatspi.stateToString(s) for s in cell.getState().getStates()]}


def main():
    pyatspi.Registry.registerEventListener(lambda event: heard.append(event.source.name) if event.detail1 else None,
                                           "object:state-changed:focused")
    process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    for line in sys.stdin:
        try:
            out = answer(process, line.rstrip("\n").split("\t"))
        except (GLib.GError, NotImplementedError, LookupError, AttributeError) as error:
            out = {"gone": repr(error)}  # while it was asked, it changed
        print("=", json.dumps(out), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
