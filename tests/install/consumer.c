/* consumer.c: uses the installed header and shared library. */
#include <abut/abut.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  printf("%s\n", abut_version());
  return strcmp(abut_version(), ABUT_VERSION) != 0;
}
