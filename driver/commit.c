/* driver/commit.c: which commit the command and the libraries were made from. Only these take it in: a new commit does
 * not link all tests anew. STC_COMMIT is "" where nobody knows. */
#include "commit.h"
#include "driver/program/program.h"

const char commit_made_from[] = STC_COMMIT;
