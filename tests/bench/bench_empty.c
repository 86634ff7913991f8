/* bench_empty - a program that does nothing. bench.c compares starting mcptask,
   and its size, with this. */

int
main(void)
{
    return 0;
}
