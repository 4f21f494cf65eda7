package delta

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestMemberPositions has headers of all kinds: long paths, links, folders, a large size, and what is no tar file.
func TestMemberPositions(t *testing.T) {
	t.Parallel()
	content := layer(t, file{"./a", []byte("content of a")}, file{"dir/", nil}, file{"/" + string(bytes.Repeat([]byte("long/"), 70)) + "ü", []byte("b")})
	for _, cut := range []int{0, 1, 700, 1024} {
		part := content[:len(content)-cut]
		m, err := Index(bytes.NewReader(part), int64(len(part)))
		fail.On(t, err)
		fail.Diff(t, sha256.Sum256(part), m.SHA256)
		at := int64(0)
		for _, f := range m.Files {
			if f.Start != at || f.Offset < f.Start || f.End < f.Offset+f.Size {
				t.Errorf("member %+v begins at %d", f, at)
			}
			at = f.End
		}
		if at != int64(len(part)) {
			t.Errorf("members end at %d of %d", at, len(part))
		}
		a := m.Files[0]
		if a.Path != "a" || string(part[a.Offset:a.Offset+a.Size]) != "content of a" {
			t.Errorf("first member %+v", a)
		}
		if long := m.Files[2]; long.Path != string(bytes.Repeat([]byte("long/"), 70))+"ü" || string(part[long.Offset:long.Offset+long.Size]) != "b" {
			t.Errorf("member with a long path: %+v", long)
		}
	}
}

// FuzzIndex has content of strangers: members cover it without gaps.
func FuzzIndex(f *testing.F) {
	f.Add(layer(f, file{"a", []byte("content")}, file{string(bytes.Repeat([]byte("long/"), 70)), nil}))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Index(bytes.NewReader(b), int64(len(b)))
		fail.On(t, err)
		at := int64(0)
		for _, f := range m.Files {
			if f.Start != at || f.Offset < f.Start || f.Size < 0 || f.End < f.Offset+f.Size || f.End <= f.Start {
				t.Fatalf("member %+v begins at %d", f, at)
			}
			at = f.End
		}
		if at != int64(len(b)) {
			t.Fatalf("members end at %d of %d", at, len(b))
		}
	})
}
