/* schema - what a tool takes, as the schema that a client is shown: made
   from the table of fields and arguments, and from nothing else. */

#include "task/schema.h"
#include "json.h"
#include "task/rows.h"

static void put_schema(struct json_w *w, const struct row *r, size_t n,
                       unsigned tools, bool whole);

/* The schema of one value. */
static void
put_value(struct json_w *w, const struct row *r, bool whole)
{
    static const char *const types[] = {
        [T_INT] = "integer", [T_COUNT] = "integer", [T_BOOL] = "boolean",
        [T_OBJECT] = "object", [T_CONTENT] = NULL,
    };
    const char *const *name;

    if (r->type == T_OBJECT && (whole || r->flags & TOLD)) {
        put_schema(w, row_objects[r->sub], r->n_sub, 1, false);
        return;
    }
    json_obj(w);
    json_put_z(w, "type", types[r->type] ? types[r->type] : "string");
    if (r->type == T_OBJECT)
        json_put_z(w, "description", "as in save_checkpoint");
    if (r->type == T_INT && r->max) {
        json_put_int(w, "minimum", r->min);
        json_put_int(w, "maximum", row_max(r));
    }
    if (r->type == T_NAME) {
        json_key(w, "enum");
        json_arr(w);
        for (name = row_choices[r->sub]; *name; name++)
            json_z(w, *name);
        json_close(w);
    }
    json_close(w);
}

/* The schema of an object with those of the rows that one of tools takes;
   the rows of an object's own members say so only of those needed. */
static void
put_schema(struct json_w *w, const struct row *r, size_t n, unsigned tools,
           bool whole)
{
    bool own = r != task_rows;
    size_t i;

    json_obj(w);
    json_put_z(w, "type", "object");
    json_key(w, "properties");
    json_obj(w);
    for (i = 0; i < n; i++) {
        if (!own && !(r[i].tools & tools))
            continue;
        json_key(w, row_name(&r[i]));
        if (r[i].items) {
            json_obj(w);
            json_put_z(w, "type", "array");
            json_key(w, "items");
        }
        put_value(w, &r[i], whole);
        if (r[i].items)
            json_close(w);
    }
    json_close(w);
    json_key(w, "required");
    json_arr(w);
    for (i = 0; i < n; i++)
        if (r[i].needs & tools)
            json_z(w, row_name(&r[i]));
    json_close(w);
    json_put_bool(w, "additionalProperties", false);
    json_close(w);
}

void
task_tool_schema(enum task_tool tool, struct buf *b)
{
    struct json_w w;

    /* What a test result is, is told once: every agent reads the list. */
    json_w_init(&w, b);
    put_schema(&w, task_rows, TASK_N_ARGS, 1u << tool, tool == TOOL_CHECKPOINT);
    json_w_end(&w);
}
