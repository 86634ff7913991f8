/* skill - the skill that is built into the binary, and its entry in lists.

   The frontmatter of the file is lines of "name: text", which are plain scalars
   of YAML, between two lines of ---. */

#include "tools/skill.h"
#include "base/gunzip.h"
#include "base/sha256.h"
#include "json/write.h"
#include "mcp/mcp.h"

#include <string.h>

#define FENCE "---\n"

static const uint8_t packed[] = {
#include "skill.inc"
};

int
tools_skill_text(struct str *out)
{
    const struct str bytes = {(const char *)packed, sizeof packed};
    static struct str text;
    int rc = text.p == NULL ? gunzip(bytes, &text) : 0;

    *out = text;
    return rc;
}

/* Cuts the frontmatter, without its fences, off the front of the file. */
static struct str
cut_frontmatter(struct str *file)
{
    struct str front;
    size_t end;

    *file = str_from(*file, sizeof FENCE - 1);
    end = str_find(*file, STR("\n" FENCE)) + 1;
    front = (struct str){file->p, end};
    *file = str_from(*file, end + sizeof FENCE - 1);
    return front;
}

int
tools_skill_body(struct str *out)
{
    int rc = tools_skill_text(out);

    if (rc != 0)
        return rc;
    cut_frontmatter(out);
    while (str_starts(*out, "\n"))
        *out = str_from(*out, 1);
    return 0;
}

/* There is one skill, of one file. */
int
tools_skills(struct mcp_call *c, struct str uri)
{
    char digest[sizeof "sha256:" + SHA256_HEX] = "sha256:";
    struct str text, front, line, name;
    struct json_w w;
    int rc = tools_skill_text(&text);

    if (rc != 0)
        return rc;
    if (uri.len > 0 && !str_is(uri, TOOLS_SKILL))
        return ERR_NOT_FOUND;
    sha256_hex(text, digest + strlen(digest));
    json_begin(&w, c->out);
    json_put_z(&w, "uri", TOOLS_SKILL);
    json_put_arr(&w, "resources");
    json_obj(&w);
    json_put_z(&w, "uri", TOOLS_SKILL);
    json_put_z(&w, "digest", digest);
    json_put_int(&w, "size", (int64_t)text.len);
    json_close(&w);
    json_close(&w);
    json_put_obj(&w, "frontmatter");
    front = cut_frontmatter(&text);
    while (front.len > 0) {
        line = str_cut(&front, '\n');
        name = str_cut(&line, ':');
        json_key_str(&w, name);
        json_string(&w, str_trim(line));
    }
    json_close(&w);
    json_end(&w);
    return c->out->err;
}
