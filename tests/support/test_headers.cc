// Nothing: the precompiled header wants a source.
