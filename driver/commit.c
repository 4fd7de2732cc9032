/* driver/commit.c: the commit from which the command and the libraries were made. Only these contain it, so a new
 * commit does not link all tests again. STC_COMMIT is "" if the commit is not known. */
#include "commit.h"
#include "driver/program/program.h"

const char commit_made_from[] = STC_COMMIT;
