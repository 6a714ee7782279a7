#pragma once

// Activation tables: `.tables auto` of the language.

#include "isa/program.h"

namespace ncemu {

// Inserts act_table_load before the first activation of another set (design: activation tables); at a loop's
// entry, and around hand-written blocks of the scalar engine, the set is unknown. Works on the text order,
// before synchronise(). Functions of every set need none.
void insert_table_loads(Program& program);

}  // namespace ncemu
