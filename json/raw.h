#ifndef JSON_RAW_H
#define JSON_RAW_H

/* raw - steps through JSON that this program wrote (canonical, without
   blanks, its CRC good) without making tokens of it. What does not look like
   that is an error, never an overrun. */

#include "base/base.h"

/* Behind the value that begins at p, or NULL. */
const char *raw_skip(const char *p, const char *end);

/* Steps through the members of a body or, from behind its brace, of an
   object. */
struct raw_members {
    const char *p, *end;
    struct str name;  /* without its quotes; our names have no escapes */
    struct str value; /* raw */
};
/* The members of a raw object, or of a run of members without braces. */
struct raw_members raw_members_of(struct str raw);
/* 1: the next member is in name and value; 0: the end; ERR_FORMAT. */
int raw_next(struct raw_members *m);
/* The same, but leaves the value unread: the caller steps over it itself or
   ends here. value begins where it begins and has no length. */
int raw_next_name(struct raw_members *m);

/* A raw string without its quotes, escapes left as they are. */
struct str raw_inner(struct str raw);
/* Reads a raw whole number; 0 where it is something else. */
uint64_t raw_u64(struct str raw);

/* The text as a raw string, in a; .p NULL: no memory. */
struct str raw_quote(struct arena *a, struct str text);
/* The text of a raw string, escapes resolved, in a where it has any; .p NULL:
   not a string, or no memory. */
struct str raw_text(struct arena *a, struct str raw);
/* How many elements a field that is an array has; 0: absent. */
size_t raw_list_n(struct str raw);
/* Steps through a raw array: the next element, .p NULL at the end. *at
   begins at 0. */
struct str raw_list_next(struct str raw, size_t *at);
/* Whether one of the elements of a raw array is just that. */
bool raw_list_has(struct str raw, struct str item);
/* The element of a raw array of objects whose member `name` is value (raw),
   .p NULL: none is. */
struct str raw_list_find(struct str raw, const char *name, struct str value);
/* The raw value of a raw object's member; .p NULL: absent. */
struct str raw_member(struct str raw, const char *name);
/* A list with `with` in place of its element `item`, which is a slice of it,
   or behind all where that is .p NULL; an empty `with` leaves the element
   out. In a; .p NULL: no memory. */
struct str raw_list_edit(struct arena *a, struct str list, struct str item,
                         struct str with);

#endif
