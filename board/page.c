/* page - board.html, the page for people, compressed and built into the binary.

   Browsers get it compressed. It is unpacked once and kept, for clients that do
   not accept gzip, for hosts of MCP Apps, which get text, and for the digests
   of its script and style: the browser runs no other script on the page, even
   if one were injected. Its CRC identifies its version. */

#include "board/page.h"
#include "base/base64.h"
#include "base/gunzip.h"
#include "base/sha256.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t packed[] = {
#include "page.inc"
};

struct str
page_packed(void)
{
    return (struct str){(const char *)packed, sizeof(packed)};
}

int
page_text(struct str *out)
{
    static struct str text;
    int rc = text.p == NULL ? gunzip(page_packed(), &text) : 0;

    *out = text;
    return rc;
}

/* ---- fields for the browser ---- */

/* Appends the digest of the content of an element without attributes. */
static void
put_digest(struct buf *b, const char *page, const char *open,
           const char *close)
{
    const char *from = strstr(page, open) + strlen(open);
    const char *to = strstr(from, close);
    uint8_t digest[SHA256_LEN];

    sha256_of((struct str){from, (size_t)(to - from)}, digest);
    buf_z(b, "'sha256-");
    base64_encode(b, (struct str){(const char *)digest, SHA256_LEN});
    buf_char(b, '\'');
}

void
page_tag(char out[16])
{
    text_put(out, 16, "W/\"%08x\"", gunzip_crc(page_packed()));
}

void
page_put_fields(struct buf *b)
{
    struct str page;
    char tag[16];

    if (page_text(&page) != 0) {
        b->err = ERR_NOMEM;
    } else {
        page_tag(tag);
        buf_z(b, "Content-Security-Policy: default-src 'none'; script-src ");
        put_digest(b, page.p, "<script>", "</script>");
        buf_z(b, "; style-src ");
        put_digest(b, page.p, "<style>", "</style>");
        buf_printf(b, "; connect-src 'self'; img-src data: blob:; "
                   "manifest-src data:; base-uri 'none'; "
                   "form-action 'none'; frame-ancestors 'none'\r\n"
                   "Referrer-Policy: no-referrer\r\n"
                   "Cache-Control: no-cache\r\nVary: Accept-Encoding\r\n"
                   "ETag: %s\r\n", tag);
    }
}
