#ifndef CLI_GRAPH_H
#define CLI_GRAPH_H

/* graph - the command that writes tasks, their parts and dependencies as a
   graph for Mermaid or Graphviz. */

#include "cli/command.h"

int cli_graph(struct cli *c);

#endif
