#!/bin/sh
# size.sh PACKAGE.deb: sets its Installed-Size to what its files take, in KiB, links as such: CPack counts what each link leads to.
set -e
package=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ar x "$package"
size=$(tar -tvf data.tar* | awk '{ size += /^-/ ? int(($3 + 1023) / 1024) : 1 } END { print size }')
mkdir control
tar -xpzf control.tar.gz -C control
sed -i "s/^Installed-Size: .*/Installed-Size: $size/" control/control
tar --owner=0 --group=0 --numeric-owner --sort=name --mtime="@${SOURCE_DATE_EPOCH:-$(date +%s)}" -cf - -C control . | gzip -9n > control.tar.gz
ar rD "$package" control.tar.gz
