/* bench_empty - a program that does nothing: what bench.c compares starting
   mcptask, and the size of it, with. */

int
main(void)
{
    return 0;
}
