/* The parser against what RFC 8259 allows and forbids, and the reading of
   tokens. Each text ends at a guard page. Cases are named y_ where the parser
   must accept, n_ where it must refuse, and i_ where the grammar leaves it
   open and only a clean answer is asked for. */

#include "tests/lib/json_rig.h"
#include "base/utf8.h"
#include "json/raw.h"

TEST(get_takes_the_last_of_a_name)
{
    int64_t v;

    CHECK(parse_z("{\"a\":1,\"b\":{\"a\":9},\"a\":[2],\"\\u0061\":3,"
                  "\"aa\":4,\"\":5,\"a\\u0000\":6,\"\\ud83d\\ude00\":7}") == 0);
    CHECK(json_int(json_get(root, "a"), &v) && v == 3);
    CHECK(json_int(json_get(root, "aa"), &v) && v == 4);
    CHECK(json_int(json_get(root, ""), &v) && v == 5);
    CHECK(json_int(json_get(root, "\xf0\x9f\x98\x80"), &v) && v == 7);
    CHECK(json_get(root, "A") == NULL && json_get(root, "aaa") == NULL);
    CHECK(json_int(json_get(json_get(root, "b"), "a"), &v) && v == 9);
    CHECK(json_get(NULL, "a") == NULL);
    CHECK(json_get(json_get(root, "a"), "a") == NULL);
    CHECK(parse_z("{}") == 0 && json_get(root, "") == NULL);
}

TEST(tokens)
{
    const struct json_tok *t;

    CHECK(parse_z(" {\"a\" : [1,{\"b\":null}, \"x\\n\"] , \"\":-0.5e+3 } ") ==
          0);
    t = root;
    CHECK(t->type == JSON_OBJECT && t->n == 2 && t->span == 10);
    CHECK(str_starts(json_raw(t), "{\"a\"") &&
          t->p[t->len - 1] == '}');
    t = root + 2;
    CHECK(t->type == JSON_ARRAY && t->n == 3 && t->span == 6);
    CHECK(str_is(json_raw(t), "[1,{\"b\":null}, \"x\\n\"]"));
    CHECK(t[1].type == JSON_NUMBER && str_is(json_raw(t + 1), "1"));
    CHECK(t[2].type == JSON_OBJECT && t[2].n == 1 && t[2].span == 3);
    CHECK(t[4].type == JSON_NULL && t[4].span == 1 && t[4].len == 4);
    CHECK(t[5].type == JSON_STRING && t[5].escaped && t[5].len == 3);
    CHECK(str_is(json_raw(t + 5), "\"x\\n\""));
    CHECK(str_is(json_str(&arena, t + 5), "x\n"));
    t += t->span;
    CHECK(t->type == JSON_STRING && t->len == 0 && !t->escaped);
    CHECK(str_is(json_raw(t + 1), "-0.5e+3"));
    CHECK(json_raw(NULL).p == NULL);
    CHECK(parse_z("[true,false,[],{}]") == 0);
    CHECK(root->n == 4 && root->span == 5 && root[1].type == JSON_TRUE);
    CHECK(root[2].type == JSON_FALSE && root[3].n == 0 && root[4].len == 2);
}

#define C(name, lit) {name, lit, sizeof(lit) - 1}
static const struct {
    const char *name;
    const char *p;
    size_t len;
} cases[] = {
    /* arrays */
    C("y_array_empty", "[]"),
    C("y_array_spaces", " [ 1 ,\t2\r\n, 3 ] "),
    C("y_array_nested", "[[[],[[]]],[]]"),
    C("y_array_mixed", "[null, 1, \"2\", {}, [false], -3.5e2]"),
    C("y_array_of_empty_string", "[\"\"]"),
    C("y_array_nulls", "[null,null,null]"),
    C("y_array_newline_at_end", "[0]\n"),
    C("n_array_colon", "[1:2]"),
    C("n_array_semicolon", "[1;2]"),
    C("n_array_no_comma", "[1 2]"),
    C("n_array_no_comma_before_array", "[1[2]]"),
    C("n_array_no_comma_between_strings", "[\"a\"\"b\"]"),
    C("n_array_trailing_comma", "[1,]"),
    C("n_array_trailing_commas", "[1,,]"),
    C("n_array_leading_comma", "[,1]"),
    C("n_array_double_comma", "[1,,2]"),
    C("n_array_comma_only", "[,]"),
    C("n_array_comma_behind", "[1],"),
    C("n_array_comma_and_value_behind", "[1],2"),
    C("n_array_closed_twice", "[1]]"),
    C("n_array_closed_by_brace", "[1}"),
    C("n_array_open", "[1"),
    C("n_array_open_after_comma", "[1,"),
    C("n_array_open_newlines", "[1,\n2\n,3\n"),
    C("n_array_open_with_object", "[{}"),
    C("n_array_open_word", "[tru"),
    C("n_array_minus", "[-]"),
    C("n_array_star", "[*]"),
    C("n_array_no_value", "[   , 1]"),
    C("n_array_bare_word", "[x"),
    C("n_array_bad_utf8", "[\xff]"),
    C("n_array_letter_and_bad_utf8", "[a\xe5]"),
    C("n_array_vertical_tab", "[\"a\",\v1]"),
    C("n_array_form_feed", "[\f]"),
    C("n_array_escape_outside", "[\\n]"),
    C("n_array_escape_outside_behind", "[1,\\u000A2]"),
    /* objects */
    C("y_object_empty", "{}"),
    C("y_object_one", "{\"a\":1}"),
    C("y_object_two", "{\"a\":1,\"b\":[2]}"),
    C("y_object_spaces", "{ \"a\" : 1 ,\n\"b\"\t:\r2 }"),
    C("y_object_empty_name", "{\"\":0}"),
    C("y_object_same_name", "{\"a\":1,\"a\":2}"),
    C("y_object_same_member", "{\"a\":1,\"a\":1}"),
    C("y_object_nul_in_name", "{\"a\\u0000b\":1}"),
    C("y_object_escaped_name", "{\"\\u0444\\n\":\"\\u0444\"}"),
    C("y_object_numbers", "{\"min\":-1.0e+28,\"max\":1.0e+28}"),
    C("y_object_long_text", "{\"x\":[{\"id\":\"mmmmmmmmmmmmmmmmmmmmmmmmmmmm"
      "mmmmmmmmmmmmmmmm\"}],\"id\":\"mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm\"}"),
    C("n_object_trailing_comma", "{\"a\":1,}"),
    C("n_object_trailing_commas", "{\"a\":1,,,,}"),
    C("n_object_double_comma", "{\"a\":1,,\"b\":2}"),
    C("n_object_leading_comma", "{,\"a\":1}"),
    C("n_object_comma_for_colon", "{\"a\",1}"),
    C("n_object_equals_for_colon", "{\"a\"=1}"),
    C("n_object_double_colon", "{\"a\"::1}"),
    C("n_object_no_colon", "{\"a\" 1}"),
    C("n_object_no_colon_no_value", "{\"a\"}"),
    C("n_object_no_colon_open", "{\"a\""),
    C("n_object_no_value", "{\"a\":}"),
    C("n_object_no_value_open", "{\"a\":"),
    C("n_object_value_open", "{\"a\":\"b"),
    C("n_object_no_name", "{:1}"),
    C("n_object_bare_name", "{a:1}"),
    C("n_object_bare_name_behind", "{\"a\":1,b:2}"),
    C("n_object_number_name", "{1:1}"),
    C("n_object_huge_number_name", "{9999E9999:1}"),
    C("n_object_null_name", "{null:null,null:null}"),
    C("n_object_array_name", "{[]:1}"),
    C("n_object_bracket_name", "{[: \"x\"}\n"),
    C("n_object_single_quotes", "{'a':0}"),
    C("n_object_single_quote", "{\"a\":'0'}"),
    C("n_object_emoji", "{\xf0\x9f\x87\xa8\xf0\x9f\x87\xad}"),
    C("n_object_bad_word", "[\"x\", truth]"),
    C("n_object_bad_utf8_name", "{\"\xb9\":\"0\",}"),
    C("n_object_two_values", "{\"a\":1 2}"),
    C("n_object_member_in_value", "{\"a\":\"b\":\"c\"}"),
    C("n_object_string_behind", "{\"a\":\"b\"}\"c\""),
    C("n_object_hash_behind", "{\"a\":\"b\"}#"),
    C("n_object_comment_behind", "{\"a\":\"b\"}/**/"),
    C("n_object_comment_open", "{\"a\":\"b\"}/**//"),
    C("n_object_line_comment", "{\"a\":\"b\"}//"),
    C("n_object_half_comment", "{\"a\":\"b\"}/"),
    C("n_object_comment_within", "{\"a\":/*x*/1}"),
    C("n_object_closed_by_bracket", "{\"a\":1]"),
    C("n_object_closed_twice", "{\"a\":1}}"),
    C("n_object_open", "{\"a\":1"),
    /* numbers */
    C("y_number_zero", "0"),
    C("y_number_minus_zero", "-0"),
    C("y_number_negative", "[-123]"),
    C("y_number_one_digit", "[7]"),
    C("y_number_fraction", "123.456789"),
    C("y_number_near_zero", "-0.00000000000000000000000000000000000000000001"),
    C("y_number_zero_exp", "[0e1]"),
    C("y_number_zero_plus_exp", "[0e+1]"),
    C("y_number_exp", "20e1"),
    C("y_number_exp_zero", "1e0"),
    C("y_number_exp_leading_zeros", "1e0001"),
    C("y_number_capital_exp", "1E22"),
    C("y_number_capital_minus_exp", "1E-2"),
    C("y_number_capital_plus_exp", "1E+2"),
    C("y_number_fraction_exp", "123.456e78"),
    C("y_number_minus_exp", "1e-2"),
    C("y_number_space_before", "[ 4]"),
    C("i_number_huge_exp", "0.4e0066999999999999999999999999999999999999969"),
    C("i_number_huge_minus_exp", "123e-10000000"),
    C("i_number_over_double", "[1.5e+9999,-1e+9999]"),
    C("i_number_over_int", "[100000000000000000000,-123123123123123123123]"),
    C("n_number_leading_zero", "012"),
    C("n_number_minus_leading_zero", "[-012]"),
    C("n_number_two_zeros", "[-2., 00]"),
    C("n_number_plus", "+1"),
    C("n_number_plus_plus", "[++1234]"),
    C("n_number_minus_minus", "--1"),
    C("n_number_minus_only", "-"),
    C("n_number_minus_space", "[- 1]"),
    C("n_number_minus_word", "[-foo]"),
    C("n_number_point_first", "[.5]"),
    C("n_number_point_minus", "[.-1]"),
    C("n_number_minus_point", "[-.123]"),
    C("n_number_point_last", "[1.]"),
    C("n_number_minus_point_last", "[-2.]"),
    C("n_number_point_exp", "[2.e3]"),
    C("n_number_point_plus_exp", "[2.e+3]"),
    C("n_number_zero_point_exp", "[0.e1]"),
    C("n_number_two_points", "[0.1.2]"),
    C("n_number_exp_only", "[1e]"),
    C("n_number_exp_plus_only", "[0e+]"),
    C("n_number_exp_minus_only", "[1.0e-]"),
    C("n_number_capital_exp_only", "[0E]"),
    C("n_number_capital_exp_plus_only", "[0E+]"),
    C("n_number_two_exps", "[1eE2]"),
    C("n_number_two_signs", "[0e+-1]"),
    C("n_number_exp_garbage", "[1ea]"),
    C("n_number_exp_fraction", "[1e1.5]"),
    C("n_number_bad_utf8", "[123\xe5]"),
    C("n_number_bad_utf8_exp", "[1e1\xe5]"),
    C("n_number_bad_utf8_after_e", "[0e\xe5]"),
    C("n_number_space_within", "[1 000.0]"),
    C("n_number_underscore", "[1_000]"),
    C("n_number_comma_open", "[1,0"),
    C("n_number_hex", "[0x1]"),
    C("n_number_hex_long", "[0x42]"),
    C("n_number_expression", "[1+2]"),
    C("n_number_letters_behind", "[1.2a-3]"),
    C("n_number_letter_behind", "[-1x]"),
    C("n_number_letter", "[1.8011670033376514H-308]"),
    C("n_number_garbage_behind", "2@"),
    C("n_number_nan", "[NaN]"),
    C("n_number_minus_nan", "[-NaN]"),
    C("n_number_inf", "[Inf]"),
    C("n_number_plus_inf", "[+Inf]"),
    C("n_number_infinity", "[Infinity]"),
    C("n_number_minus_infinity", "[-Infinity]"),
    C("n_number_wide_digit", "[\xef\xbc\x91]"),
    C("n_number_nul_behind", "1\0"),
    /* strings */
    C("y_string_empty", "\"\""),
    C("y_string_plain", "\"asd \""),
    C("y_string_space", "\" \""),
    C("y_string_short_escapes", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
    C("y_string_hex_escapes", "\"\\u0061\\u30af\\u00Af\""),
    C("y_string_control_escaped", "\"\\u0000\\u0012\\u001f\""),
    C("y_string_escaped_backslash_u", "\"\\\\u0000\""),
    C("y_string_escaped_backslash_n", "\"\\\\n\""),
    C("y_string_hex_quote", "\"\\u0022\\u005c\""),
    C("y_string_pair", "\"\\ud801\\udc37\""),
    C("y_string_high_alone", "[\"\\uD800\"]"),
    C("y_string_high_and_text", "[\"\\uDADAa\"]"),
    C("y_string_high_and_newline", "[\"\\uD800\\n\"]"),
    C("y_string_high_and_letter", "[\"\\ud800\\u0061\"]"),
    C("y_string_high_twice", "[\"\\uD800\\uD800\\uDC00\"]"),
    C("y_string_low_alone", "[\"\\udc00\"]"),
    C("y_string_low_first", "[\"\\uDd1e\\uD834\"]"),
    C("y_string_low_in_name", "{\"\\uDFAA\":0}"),
    C("y_string_pairs", "\"\\ud83d\\ude39\\ud83d\\udc8d\""),
    C("y_string_last_pair", "\"\\uDBFF\\uDFFE\""),
    C("y_string_noncharacters_escaped",
      "\"\\uFDD0\\uFFFE\\uffff\\ud83f\\udffe\""),
    C("y_string_noncharacters",
      "\"\xef\xbf\xbf\xf4\x8f\xbf\xbf\xf0\x9b\xbf\xbf\""),
    C("y_string_comment_within", "\"a/*b*/c/*d//e\""),
    C("y_string_delete", "\"a\x7f" "b\""),
    C("y_string_utf8_of_each_length",
      "\"$\xc2\xa2\xe2\x82\xac\xf0\x9d\x84\x9e\""),
    C("y_string_utf8_edges",
      "\"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf"
      "\xee\x80\x80\xf0\x90\x80\x80\""),
    C("y_string_line_separators", "\"\xe2\x80\xa8\xe2\x80\xa9\""),
    C("y_string_zero_width", "\"\xe2\x80\x8b\xe2\x81\xa4\xc2\xa0\""),
    C("y_string_bom_within", "\"\xef\xbb\xbf\""),
    C("n_string_open", "\""),
    C("n_string_open_text", "[\"abc"),
    C("n_string_no_quotes", "abc"),
    C("n_string_single_quotes", "['a']"),
    C("n_string_no_quotes_utf8", "[\xc3\xa9]"),
    C("n_string_no_quotes_escape", "[\\u0020\"a\"]"),
    C("n_string_leading_wide_space", "[\xe2\x80\x89\"a\"]"),
    C("n_string_garbage_behind", "\"\"x"),
    C("n_string_newline", "[\"a\nb\"]"),
    C("n_string_tab", "[\"\t\"]"),
    C("n_string_nul", "[\"a\0a\"]"),
    C("n_string_unit_separator", "[\"a\x1f\"]"),
    C("n_string_escape_at_end", "[\"\\"),
    C("n_string_escaped_quote_open", "[\"\\\"]"),
    C("n_string_three_backslashes", "[\"\\\\\\\"]"),
    C("n_string_escape_x", "[\"\\x00\"]"),
    C("n_string_escape_a", "[\"\\a\"]"),
    C("n_string_escape_0", "[\"\\0\"]"),
    C("n_string_escape_single_quote", "[\"\\'\"]"),
    C("n_string_escape_nul", "[\"\\\0\"]"),
    C("n_string_escape_tab", "[\"\\\t\"]"),
    C("n_string_escape_newline", "[\"\\\n\"]"),
    C("n_string_escape_emoji", "[\"\\\xf0\x9f\x8c\x80\"]"),
    C("n_string_escape_bad_utf8", "[\"\\\xe5\"]"),
    C("n_string_escape_capital_u", "[\"\\U0061\"]"),
    C("n_string_hex_none", "[\"\\u\"]"),
    C("n_string_hex_short", "[\"\\u00A\"]"),
    C("n_string_hex_open", "[\"\\u00"),
    C("n_string_hex_bad_digit", "[\"\\uqqqq\"]"),
    C("n_string_hex_digit_edges", "[\"\\u00/0\\u00:0\\u00@0\\u00`0\"]"),
    C("n_string_hex_past_f", "[\"\\u00g0\"]"),
    C("n_string_hex_sign", "[\"\\u+123\"]"),
    C("n_string_hex_bad_utf8", "[\"\\u12\xe5\"]"),
    C("n_string_high_and_half_escape", "[\"\\uD800\\\"]"),
    C("n_string_high_and_no_digits", "[\"\\uD800\\u\"]"),
    C("n_string_high_and_few_digits", "[\"\\uD800\\uDC0\"]"),
    C("n_string_high_and_bad_digit", "[\"\\uD800\\uDC0x\"]"),
    C("n_string_utf8_lone_tail", "[\"\x81\"]"),
    C("n_string_utf8_latin1", "[\"\xe9\"]"),
    C("n_string_utf8_cut", "[\"\xe0\xff\"]"),
    C("n_string_utf8_cut_by_quote", "[\"\xe6\x97\"]"),
    C("n_string_utf8_cut_4", "[\"\xf0\x9f\x98\"]"),
    C("n_string_utf8_overlong_2", "[\"\xc0\xaf\"]"),
    C("n_string_utf8_overlong_2_high", "[\"\xc1\xbf\"]"),
    C("n_string_utf8_overlong_3", "[\"\xe0\x9f\xbf\"]"),
    C("n_string_utf8_overlong_4", "[\"\xf0\x8f\xbf\xbf\"]"),
    C("n_string_utf8_overlong_6", "[\"\xfc\x83\xbf\xbf\xbf\xbf\"]"),
    C("n_string_utf8_overlong_nul", "[\"\xfc\x80\x80\x80\x80\x80\"]"),
    C("n_string_utf8_surrogate", "[\"\xed\xa0\x80\"]"),
    C("n_string_utf8_surrogate_last", "[\"\xed\xbf\xbf\"]"),
    C("n_string_utf8_beyond", "[\"\xf4\x90\x80\x80\"]"),
    C("n_string_utf8_lead_f5", "[\"\xf5\x80\x80\x80\"]"),
    C("n_string_utf8_after_escape", "[\"\\n\xe5\"]"),
    /* the whole text */
    C("y_text_string", "\"x\""),
    C("y_text_number", "42"),
    C("y_text_negative_fraction", "-0.1"),
    C("y_text_true", "true"),
    C("y_text_false", "false"),
    C("y_text_null", "null"),
    C("y_text_all_spaces", " \t\r\n[] \t\r\n"),
    C("n_text_empty", ""),
    C("n_text_space", " "),
    C("n_text_bom", "\xef\xbb\xbf"),
    C("n_text_bom_object", "\xef\xbb\xbf{}"),
    C("n_text_half_bom", "\xef\xbb{}"),
    C("n_text_utf16_le", "[\0\"\0\xe9\0\"\0]\0"),
    C("n_text_utf16_be", "\0[\0\"\0\xe9\0\"\0]"),
    C("n_text_utf16_le_bom", "\xff\xfe[\0\"\0\xe9\0\"\0]\0"),
    C("n_text_nul", "\0"),
    C("n_text_nul_within", "[\0]"),
    C("n_text_nul_behind", "[]\0"),
    C("n_text_two", "[][]"),
    C("n_text_two_words", "true false"),
    C("n_text_garbage_behind", "[1]x"),
    C("n_text_word_behind", "1]"),
    C("n_text_capital_true", "[True]"),
    C("n_text_capital_null", "NULL"),
    C("n_text_half_true", "[tru]"),
    C("n_text_half_false", "fals"),
    C("n_text_half_null", "[nul"),
    C("n_text_long_null", "nulll"),
    C("n_text_word", "asd"),
    C("n_text_utf8_word", "a\xc3\xa5"),
    C("n_text_e_acute", "\xc3\xa9"),
    C("n_text_bad_utf8", "\xe5"),
    C("n_text_star", "*"),
    C("n_text_angles", "<null>"),
    C("n_text_angle_point", "<.>"),
    C("n_text_close", "]"),
    C("n_text_close_brace", "}"),
    C("n_text_comma", ","),
    C("n_text_colon", ":"),
    C("n_text_slash_comment", "//\n1"),
    C("n_text_hash_comment", "{\"a\":1} # x"),
    C("n_text_comment", "/*x*/1"),
    C("n_text_form_feed", "\f[]"),
    C("n_text_word_joiner", "[\xe2\x81\xa0]"),
    C("n_text_no_break_space", "\xc2\xa0[]"),
    C("n_text_escaped_newline", "[\\u000A\"\"]"),
    C("n_open_bracket", "["),
    C("n_open_brace", "{"),
    C("n_open_both", "[{"),
    C("n_open_both_turned", "{["),
    C("n_open_bracket_comma", "[,"),
    C("n_open_brace_comma", "{,"),
    C("n_open_bracket_quote", "[\"a"),
    C("n_open_brace_quote", "{\"a"),
    C("n_open_apostrophes", "{'a'"),
    C("n_open_brace_closed_by_bracket", "{]"),
    C("n_open_escapes", "[\"\\{[\"\\{[\"\\{"),
    C("n_open_value", "{\"a\":true"),
    C("n_open_many", "[{\"a\":[{\"a\":[{\"a\":[{\"a\":[{"),
};
#undef C

/* No proper prefix of a text with an end of its own is accepted, and none is
   read beyond its end. */
static void
check_prefixes(struct str text, bool accepted)
{
    size_t n, whole = text.len;

    while (whole > 0 && memchr(" \t\r\n", text.p[whole - 1], 4) != NULL)
        whole--;
    for (n = 0; n < whole; n++) {
        int rc = parse((struct str){text.p, n});

        /* Only a number can be cut and stay valid. */
        if (accepted && memchr("]}\"el", text.p[whole - 1], 5) != NULL)
            CHECK(rc == ERR_SYNTAX);
        if (rc < 0)
            CHECK(error_at <= n);
    }
}

TEST(cases)
{
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct str text = {cases[i].p, cases[i].len};
        int failed = test_failed, rc = parse(text);

        if (cases[i].name[0] == 'y')
            CHECK(rc == 0 && root != NULL);
        else if (cases[i].name[0] == 'n')
            CHECK(rc == ERR_SYNTAX && root == NULL);
        else
            CHECK(rc == 0 || rc == ERR_SYNTAX || rc == ERR_TOO_LARGE);
        if (rc < 0)
            CHECK(error_at <= text.len);
        check_prefixes(text, rc == 0);
        if (test_failed != failed)
            fprintf(stderr, "in case %s\n", cases[i].name);
    }
}

/* Each byte at each place of a string, followed by tails of each length: the
   scan by words must see it wherever it is. */
TEST(every_byte_at_every_place)
{
    char text[40];
    size_t len, at;
    int c;

    for (len = 1; len < 20; len++)
        for (at = 0; at < len; at++)
            for (c = 0; c < 256; c++) {
                int rc;

                memset(text, 'a', sizeof(text));
                text[0] = text[len + 1] = '"';
                text[at + 1] = (char)c;
                rc = parse((struct str){text, len + 2});
                if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\')
                    CHECK(rc == 0 && root->len == len && !root->escaped);
                else if (c != '\\')
                    CHECK(rc == ERR_SYNTAX &&
                          error_at == at + 1 + (c == '"'));
                else /* the last one escapes the quote */
                    CHECK(rc == ERR_SYNTAX &&
                          error_at == (at + 1 < len ? at + 1 : len + 2));
            }
}

TEST(utf8_at_every_place)
{
    static const char *const good[] = {"\xc3\xa9", "\xe4\xb8\xad",
                                       "\xf0\x9f\x98\x80"};
    static const char filler[] = "abcdefghijklmnopqrst";
    char text[64];
    size_t i, at;

    for (i = 0; i < 3; i++)
        for (at = 0; at <= 20; at++) {
            char *second = text + 1 + at + 1;

            snprintf(text, sizeof(text), "\"%.*s%s%s\"", (int)at, filler,
                     good[i], filler + at);
            CHECK(parse_z(text) == 0 && root->len == 20 + strlen(good[i]));
            memmove(second, second + 1, strlen(second));
            CHECK(parse_z(text) == ERR_SYNTAX && error_at == at + 1);
        }
}

TEST(error_offsets)
{
    static const struct {
        const char *z;
        size_t at;
    } at[] = {
        {"", 0},           {"  ", 2},          {"[1,]", 3},
        {"[1 2]", 3},      {"{\"a\" 1}", 5},   {"{\"a\":1,}", 7},
        {"{a:1}", 1},      {"[1]]", 3},        {"nul", 3},
        {"nulL", 3},       {"[truE]", 4},      {"\"abc", 4},
        {"\"a\nb\"", 2},   {"\"a\\q\"", 2},    {"\"\\u12g4\"", 1},
        {"[\"\\ud800\",\"\\u\"]", 11}, {"\"a\xff\"", 2}, {"01", 1},
        {"-", 1},          {"1.", 2},          {"1e+", 3},
        {"1.x", 2},        {"-a", 1},          {"[-01]", 3},
        {"\xef\xbb\xbf{}", 0}, {"{\"a\":}", 5}, {"[}", 1},
    };
    size_t i;

    for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        CHECK(parse_z(at[i].z) == ERR_SYNTAX);
        if (!CHECK(error_at == at[i].at))
            fprintf(stderr, "at %zu in %s\n", error_at, at[i].z);
    }
    CHECK(json_parse(&arena, STR("[1,"), &root, NULL) == ERR_SYNTAX);
    CHECK(json_parse(&arena, STR_NONE, &root, NULL) == ERR_SYNTAX);
}

/* Half a surrogate pair has no form in UTF-8: no token contains one, nor does
   text spliced from it. */
TEST(lone_surrogates_are_replaced)
{
    static const struct {
        const char *z, *raw, *text;
    } k[] = {
        {"\"\\ud83d\"", "\"\\uFFfd\"", "\xef\xbf\xbd"},
        {"\"a\\uDE00b\"", "\"a\\uFFfdb\"", "a\xef\xbf\xbd" "b"},
        {"\"\\ud83d\\ud83d\\ude00\"", "\"\\uFFfd\\ud83d\\ude00\"",
         "\xef\xbf\xbd\xf0\x9f\x98\x80"},
        {"\"\\ude00\\ud83d\"", "\"\\uFFfd\\uFFfd\"",
         "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\"\\\\ud83d\\ud800\\n\"", "\"\\\\ud83d\\uFFfd\\n\"",
         "\\ud83d\xef\xbf\xbd\n"},
    };
    char text[128];
    size_t i;

    for (i = 0; i < sizeof(k) / sizeof(k[0]); i++) {
        snprintf(text, sizeof(text), "{\"n\":[1,\"x\"],\"\\udc00\":%s}",
                 k[i].z);
        CHECK(parse_z(text) == 0 && root->n == 2 && root->span == 7);
        CHECK(str_is(json_raw(json_get(root, "\xef\xbf\xbd")), k[i].raw));
        CHECK(str_is(json_str(&arena, root + 6), k[i].text));
        CHECK(json_is(root + 6, k[i].text));
    }
}

TEST(strings)
{
    struct str s;

    CHECK(parse_z("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"") == 0);
    CHECK(str_is(json_str(&arena, root), "\"\\/\b\f\n\r\t"));
    CHECK(parse_z("\"\\u0041\\u00e9\\u4E2d\\uD83D\\ude00\\uffff\"") == 0);
    CHECK(str_is(json_str(&arena, root),
                 "A\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\xef\xbf\xbf"));
    CHECK(parse_z("\"\\udbff\\udfff\\ud800\\udc00\"") == 0);
    CHECK(str_is(json_str(&arena, root),
                 "\xf4\x8f\xbf\xbf\xf0\x90\x80\x80"));
    CHECK(parse_z("\"a\\u0000b\"") == 0);
    s = json_str(&arena, root);
    CHECK(s.len == 3 && memcmp(s.p, "a\0b", 3) == 0);
    CHECK(!json_is(root, "a") && !json_is(root, "a0b"));
    CHECK(json_is_str(root, s) && !json_is_str(root, str_from(s, 1)));
    CHECK(!json_is_str(NULL, s) && !json_is_str(root, STR_NONE));
    CHECK(parse_z("\"tasks\\/get\"") == 0 && json_is(root, "tasks/get"));
    CHECK(!json_is(root, "tasks/ge") && !json_is(root, "tasks/gets"));
    CHECK(parse_z("\"\"") == 0 && json_is(root, ""));
    s = json_str(&arena, root);
    CHECK(s.p != NULL && s.len == 0);
    CHECK(parse_z("[1]") == 0 && json_str(&arena, root).p == NULL);
    CHECK(json_str(&arena, NULL).p == NULL && !json_is(NULL, ""));
    CHECK(!json_is(root + 1, "1"));
}

/* A raw string is read without a parser: an escape that is not whole is
   refused, and nothing behind it is read. */
TEST(broken_escapes)
{
    static const char *const bad[] = {
        "\\", "\\u", "\\u0", "\\u00", "\\u00e", "\\u00eg", "\\x", "\\0",
        "\\ud83d", "\\ud83d\\", "\\ud83d\\ude0", "\\ud83d\\u0041",
        "\\ude00", "\\U0041", "\\\xc3",
    };
    struct json_tok t = {.type = JSON_STRING, .escaped = true};
    char raw[64];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t n = strlen(bad[i]);

        arena_reset(&arena);
        t.p = guard_copy(bad[i], n);
        t.len = (uint32_t)n;
        CHECK(json_str(&arena, &t).p == NULL);
        CHECK(!json_is(&t, "A") && !json_is(&t, ""));
        snprintf(raw, sizeof raw, "\"good %s\"", bad[i]);
        n = strlen(raw);
        CHECK(raw_text(&arena, (struct str){guard_copy(raw, n), n}).p == NULL);
        CHECK(!json_is_valid((struct str){guard_copy(raw, n), n}));
    }
    CHECK(str_is(raw_text(&arena, STR("\"\\ud83d\\ude00\\u00E9\\/\"")),
                 "\xf0\x9f\x98\x80\xc3\xa9/"));
}

/* raw_skip ends where a value ends, and takes no blanks before it. */
TEST(raw_skip)
{
    static const struct { const char *text; size_t len; } skips[] = {
        {"1,2", 1}, {"true}", 4}, {"\"a\\\"\",", 5}, {"[1,[2]]]", 7},
        {"{\"}\":1}x", 7}, {" 1", 0}, {"\t\"a,b\"", 0}, {"1 ,2", 1}, {",", 0},
        {"\"a", 0}, {"\"a\\", 0}, {"\"a\\\"", 0}, {"[\"", 0}, {"[[]", 0},
        {"", 0},
    };

    for (size_t i = 0; i < sizeof skips / sizeof *skips; i++) {
        size_t n = strlen(skips[i].text);
        const char *p = guard_copy(skips[i].text, n);
        const char *end = raw_skip(p, p + n);

        if (!CHECK(end == (skips[i].len > 0 ? p + skips[i].len : NULL)))
            fprintf(stderr, "  %s\n", skips[i].text);
    }
}

/* Records hold texts that were parsed: they may be deeper than those, and have
   more values. */
TEST(validity_has_its_own_limits)
{
    struct buf b = {0};
    size_t depth = JSON_MAX_DEPTH + 8;

    for (size_t i = 0; i < depth; i++)
        buf_z(&b, "{\"a\":");
    buf_z(&b, "1");
    for (size_t i = 0; i < depth; i++)
        buf_z(&b, "}");
    CHECK(json_is_valid(buf_view(&b)));
    buf_reset(&b, 0);
    for (size_t i = 0; i <= depth; i++)
        buf_z(&b, "[");
    for (size_t i = 0; i <= depth; i++)
        buf_z(&b, "]");
    CHECK(!json_is_valid(buf_view(&b)));
    buf_reset(&b, 0);
    for (size_t i = 0; i <= JSON_MAX_TOKENS; i++)
        buf_z(&b, i == 0 ? "[{}" : ",{}");
    CHECK(!json_is_valid(buf_view(&b)));
    buf_z(&b, "]");
    CHECK(json_is_valid(buf_view(&b)) && !json_is_valid(STR_NONE));
    buf_fini(&b);
}

TEST(integers)
{
    static const struct {
        const char *z;
        int64_t v;
    } good[] = {
        {"0", 0}, {"-0", 0}, {"-0.0", 0}, {"0e999999999999999999999", 0},
        {"0e-99999999999", 0}, {"0.000e5", 0}, {"1", 1}, {"-1", -1},
        {"1.0", 1}, {"1e3", 1000}, {"1E+3", 1000}, {"10e-1", 1},
        {"1.5e1", 15}, {"-12.340e2", -1234}, {"100e-2", 1},
        {"0.00001e5", 1}, {"1000000000000000000000000e-24", 1},
        {"9223372036854775807", INT64_MAX},
        {"9223372036854775807.000", INT64_MAX},
        {"92233720368547758070e-1", INT64_MAX},
        {"9.223372036854775807e18", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"-9223372036854775808.0e0", INT64_MIN},
        {"9e18", INT64_C(9000000000000000000)}, {"1e18", 1000000000000000000},
    };
    static const char *const bad[] = {
        "9223372036854775808", "-9223372036854775809", "1e19", "-1e19",
        "9223372036854775808.0", "10000000000000000000", "1e999999999",
        "-1e99999999999999999999999999", "18446744073709551616",
        "18446744073709551617", "0.1", "1.5", "1e-1", "15e-1", "1e-999999999",
        "1.0000000000000000000001", "123456789012345678901234567890",
        "9223372036854775807.5", "9.3e18", "\"1\"", "true", "null", "[1]",
    };
    int64_t v;
    size_t i;

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        v = 77;
        CHECK(parse_z(good[i].z) == 0);
        if (!CHECK(json_int(root, &v) && v == good[i].v))
            fprintf(stderr, "of %s\n", good[i].z);
    }
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        v = 77;
        CHECK(parse_z(bad[i]) == 0);
        if (!CHECK(!json_int(root, &v) && v == 77))
            fprintf(stderr, "of %s\n", bad[i]);
    }
    CHECK(!json_int(NULL, &v));
}

TEST(depth_limit)
{
    static const char *const opens[] = {"[", "{\"a\":", "[{\"a\":"};
    struct buf b = {0};
    size_t kind, n, i;

    for (kind = 0; kind < 2; kind++)
        for (n = JSON_MAX_DEPTH - 1; n <= JSON_MAX_DEPTH + 1; n++) {
            b.len = 0;
            for (i = 0; i < n; i++)
                buf_z(&b, opens[kind]);
            buf_char(&b, '1');
            for (i = 0; i < n; i++)
                buf_char(&b, kind == 0 ? ']' : '}');
            if (n <= JSON_MAX_DEPTH) {
                CHECK(parse(buf_view(&b)) == 0);
                CHECK(root->span == n * (kind + 1) + 1);
            } else {
                CHECK(parse(buf_view(&b)) == ERR_TOO_LARGE);
                CHECK(error_at == JSON_MAX_DEPTH * strlen(opens[kind]));
            }
        }
    /* Depth counts what is open at once, not what was ever opened. */
    b.len = 0;
    buf_char(&b, '[');
    for (i = 0; i < 1000; i++)
        buf_z(&b, "[[]],");
    buf_z(&b, "[]]");
    CHECK(parse(buf_view(&b)) == 0 && root->n == 1001);
    b.len = 0;
    for (i = 0; i < 200000; i++)
        buf_z(&b, opens[2]);
    CHECK(parse(buf_view(&b)) == ERR_TOO_LARGE);
    buf_fini(&b);
}

TEST(token_limit)
{
    struct buf b = {0};
    uint32_t n;

    buf_z(&b, "[0");
    for (n = 2; n < JSON_MAX_TOKENS; n++)
        buf_z(&b, ",0");
    buf_char(&b, ']');
    CHECK(parse(buf_view(&b)) == 0 && root->span == JSON_MAX_TOKENS);
    CHECK(root->n == JSON_MAX_TOKENS - 1);
    b.len--;
    buf_z(&b, ",0]");
    CHECK(parse(buf_view(&b)) == ERR_TOO_LARGE);
    CHECK(error_at == b.len - 2 && root == NULL);
    buf_fini(&b);
}

TEST(long_strings)
{
    size_t i, n = (size_t)1 << 20;
    struct buf text = {0}, b = {0};

    for (i = 0; i < n; i++)
        buf_char(&text, "abc\n\"\\\x01 "[i * 2654435761u >> 7 & 7]);
    json_quote(&b, buf_view(&text));
    CHECK(parse(buf_view(&b)) == 0 && root->escaped);
    CHECK(str_eq(json_str(&arena, root), buf_view(&text)));
    buf_fini(&text);
    buf_fini(&b);
}

int
main(void)
{
    test_run();
    arena_fini(&arena);
    return test_end("json");
}
