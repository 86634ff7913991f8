/* graph - the command that writes tasks as a graph: an arrow from a task to
   each that depends on it, and a dotted line from a task to each of its parts.

   With an ID, the graph holds that task, its parts, and all that these depend
   on, however far away. Names of nodes are numbers, since an id may hold
   characters that the formats give a meaning. */

#include "cli/graph.h"
#include "cli/call.h"
#include "cli/id.h"
#include "cli/show.h"
#include "cli/text.h"
#include "base/utf8.h"
#include "json/raw.h"
#include "json/write.h"
#include "task/query.h"

#include <stdlib.h>
#include <string.h>

#define TITLE_MAX 60 /* bytes of a title that are shown */

struct node {
    struct str id, title, parent, deps; /* in c->kept; the last two are raw */
    enum task_status status;
    bool in; /* the graph */
};

struct graph {
    struct cli *c;
    struct buf nodes;
    struct node *node; /* these, sorted by id */
    size_t n;
    bool dot;
};

static int
compare_nodes(const void *a, const void *b)
{
    const struct node *x = a, *y = b;

    return str_compare(x->id, y->id);
}

/* ---- finding the tasks ---- */

static bool
take_node(void *ctx, const struct task *k)
{
    struct graph *g = ctx;
    struct arena *kept = &g->c->kept;
    struct node t = {
        .id = arena_str(kept, k->ev.id),
        .title = arena_str(kept, raw_text(&g->c->a, k->f[F_TITLE])),
        .parent = arena_str(kept, k->f[F_PARENT_ID]),
        .deps = arena_str(kept, k->f[F_DEPENDS_ON]),
        .status = k->status,
        .in = g->c->operand[0] == NULL && !task_status_ended(k->status),
    };

    if (t.id.p == NULL || t.title.p == NULL || t.parent.p == NULL ||
        t.deps.p == NULL)
        g->nodes.err = ERR_NOMEM;
    buf_put(&g->nodes, &t, sizeof(t));
    return g->nodes.err == 0;
}

/* NULL: there is none. */
static struct node *
find_node(const struct graph *g, struct str id)
{
    struct node key = {.id = id};

    return g->n == 0 ? NULL : bsearch(&key, g->node, g->n, sizeof(key),
                                      compare_nodes);
}

/* The same for a raw id, or for none. */
static struct node *
node_of(const struct graph *g, struct str raw)
{
    return raw.len < 2 ? NULL : find_node(g, raw_inner(raw));
}

/* Adds what the tasks of the graph depend on, and their parts. Returns whether
   that is more than before. */
static bool
spread(struct graph *g)
{
    bool more = false;

    for (size_t i = 0; i < g->n; i++) {
        struct node *t = &g->node[i], *parent = node_of(g, t->parent), *to;
        struct str dep = STR_NONE;

        if (!t->in && parent != NULL && parent->in)
            more = t->in = true;
        while (t->in && (dep = raw_list_next(t->deps, dep)).p != NULL)
            if ((to = node_of(g, dep)) != NULL && !to->in)
                more = to->in = true;
    }
    return more;
}

/* Reads the tasks, and marks those of the graph. Returns what cli_each_whole
   does. */
static int
find_nodes(struct graph *g)
{
    const char *id = g->c->operand[0];
    int rc = cli_each_whole(g->c, take_node, g);
    struct node *first;

    if (rc != 0 || g->nodes.err != 0)
        return rc != 0 ? rc : g->nodes.err;
    if (g->nodes.len > 0) {
        g->node = (struct node *)(void *)g->nodes.p;
        g->n = g->nodes.len / sizeof(*g->node);
        qsort(g->node, g->n, sizeof(*g->node), compare_nodes);
    }
    if (id == NULL)
        return 0;
    first = find_node(g, str_of(id));
    if (first == NULL)
        return cli_fail_task(g->c, ERR_NOT_FOUND, id);
    first->in = true;
    while (spread(g))
        continue;
    return 0;
}

/* ---- writing ---- */

/* Appends a text for a label between quotes. Mermaid has entities without "&",
   and reads some characters as Markdown or HTML. */
static void
put_label(const struct graph *g, struct str text)
{
    struct buf *b = &g->c->out;

    for (size_t i = 0; i < text.len; i++) {
        char ch = text.p[i];

        if ((unsigned char)ch < ' ')
            buf_char(b, ' ');
        else if (g->dot && (ch == '"' || ch == '\\'))
            buf_printf(b, "\\%c", ch);
        else if (!g->dot && strchr("\"#<>&`*_\\~", ch) != NULL)
            buf_printf(b, "#%d;", ch);
        else
            buf_char(b, ch);
    }
}

/* How the tasks of a status look. */
static const struct look_of_status {
    const char *fill, *line;
} looks[TASK_N_STATUSES] = {
    [TASK_OPEN] = {"#ffffff", "#888888"},
    [TASK_IN_PROGRESS] = {"#d7e7f8", "#1f5fa8"},
    [TASK_HANDOFF_READY] = {"#f8ecd0", "#a86c1f"},
    [TASK_EXHAUSTED] = {"#f8d7d7", "#b3261e"},
    [TASK_DONE] = {"#d8f0d8", "#3a7d44"},
    [TASK_FAILED] = {"#f8d7d7", "#b3261e"},
    [TASK_CANCELLED] = {"#eeeeee", "#888888"},
};

static void
put_node(const struct graph *g, const struct node *t)
{
    struct str title = utf8_cut(t->title, TITLE_MAX);
    struct buf *b = &g->c->out;
    size_t number = (size_t)(t - g->node);

    buf_printf(b, g->dot ? "  n%zu [label=\"" : "  n%zu[\"", number);
    put_label(g, t->id);
    buf_z(b, g->dot ? "\\n" : "<br>");
    put_label(g, title);
    if (title.len < t->title.len)
        buf_z(b, "...");
    if (g->dot)
        buf_printf(b, "\" fillcolor=\"%s\" color=\"%s\"];\n",
                   looks[t->status].fill, looks[t->status].line);
    else
        buf_printf(b, "\"]:::%s\n", task_status_name(t->status));
}

static void
put_edge(const struct graph *g, const struct node *from,
         const struct node *to, bool part)
{
    struct buf *b = &g->c->out;
    size_t x = (size_t)(from - g->node), y = (size_t)(to - g->node);

    if (g->dot)
        buf_printf(b, "  n%zu -> n%zu%s;\n", x, y,
                   part ? " [style=dotted arrowhead=none]" : "");
    else
        buf_printf(b, part ? "  n%zu -.- n%zu\n" : "  n%zu --> n%zu\n", x, y);
}

/* Calls put with each line between two tasks of the graph. */
static void
each_edge(const struct graph *g,
          void (*put)(const struct graph *g, const struct node *from,
                      const struct node *to, bool part))
{
    for (size_t i = 0; i < g->n; i++) {
        const struct node *t = &g->node[i], *from = node_of(g, t->parent);
        struct str dep = STR_NONE;

        if (t->in && from != NULL && from->in)
            put(g, from, t, true);
        while (t->in && (dep = raw_list_next(t->deps, dep)).p != NULL)
            if ((from = node_of(g, dep)) != NULL && from->in)
                put(g, from, t, false);
    }
}

static void
put_graph(const struct graph *g)
{
    struct buf *b = &g->c->out;

    buf_z(b, g->dot ? "digraph tasks {\n  rankdir=LR;\n  node [shape=box "
                      "style=\"rounded,filled\"];\n"
                    : "graph LR\n");
    for (size_t i = 0; i < g->n; i++)
        if (g->node[i].in)
            put_node(g, &g->node[i]);
    each_edge(g, put_edge);
    for (int i = 0; !g->dot && i < TASK_N_STATUSES; i++)
        buf_printf(b, "  classDef %s fill:%s,stroke:%s,color:#000000\n",
                   task_status_name((enum task_status)i), looks[i].fill,
                   looks[i].line);
    buf_z(b, g->dot ? "}\n" : "");
}

static void
put_json_edge(const struct graph *g, const struct node *from,
              const struct node *to, bool part)
{
    struct buf *b = &g->c->out;

    if (b->len > 0 && b->p[b->len - 1] == '}')
        buf_char(b, ',');
    buf_printf(b, "{\"from\":\"%.*s\",\"to\":\"%.*s\",\"kind\":\"%s\"}",
               STR_ARG(from->id), STR_ARG(to->id),
               part ? "part" : "dependency");
}

static void
put_json_graph(const struct graph *g)
{
    const char *before = "{\"tasks\":[";
    struct buf *b = &g->c->out;

    for (size_t i = 0; i < g->n; i++) {
        const struct node *t = &g->node[i];

        if (t->in) {
            buf_printf(b, "%s{\"task_id\":\"%.*s\",\"status\":\"%s\","
                       "\"title\":", before, STR_ARG(t->id),
                       task_status_name(t->status));
            json_quote(b, t->title);
            buf_char(b, '}');
            before = ",";
        }
    }
    buf_printf(b, "%s],\"edges\":[", *before == ',' ? "" : before);
    each_edge(g, put_json_edge);
    buf_z(b, "]}\n");
}

int
cli_graph(struct cli *c)
{
    const char *format = c->args.format;
    struct graph g = {.c = c, .dot = format != NULL &&
                                     strcmp(format, "dot") == 0};
    int rc;

    if (format != NULL && !g.dot && strcmp(format, "mermaid") != 0)
        return cli_fail(c, ERR_INVALID, "unknown format \"%s\"\nchoose mermaid "
                        "or dot", format);
    rc = find_nodes(&g);
    if (rc == 0 && c->json)
        put_json_graph(&g);
    else if (rc == 0)
        put_graph(&g);
    buf_fini(&g.nodes);
    return rc < 0 ? cli_fail_store(c, rc) : rc;
}
