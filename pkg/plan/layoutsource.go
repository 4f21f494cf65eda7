package plan

import "strings"

// Sources that are not in a registry begin with layoutScheme or folderScheme.
const (
	layoutScheme = "oci://"
	folderScheme = "dir://"
)

// SplitLayout splits "oci://DIR", "oci://DIR:NAME" or "oci://DIR@DIGEST" into the directory of the
// layout and the name in its index or the digest. The first colon or @ ends the directory.
func SplitLayout(source string) (dir, name string) {
	dir = strings.TrimPrefix(source, layoutScheme)
	if i := strings.IndexAny(dir, ":@"); i >= 0 && strings.HasPrefix(source, layoutScheme) {
		return dir[:i], dir[i+1:]
	}
	return dir, ""
}
