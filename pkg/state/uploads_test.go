package state

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestUploads(t *testing.T) {
	dir := t.TempDir()
	blob := digest.FromString("blob")
	w, err := Open(dir)
	fail.On(t, err)
	defer w.Close()
	open := func() *Uploads {
		t.Helper()
		u, err := w.Uploads("mirror")
		fail.On(t, err)
		return u
	}
	u := open()
	fail.Diff(t, 0, len(u.Pending()))
	u.Opened("host:5000/a", blob, "https://host:5000/v2/a/blobs/uploads/1?_state=x")
	u.Opened("host:5000/a", blob, "https://host:5000/v2/a/blobs/uploads/2")
	u.Opened("host:5000/b", blob, "not a URL\nended https://host:5000/v2/a/blobs/uploads/2")
	u.Ended("https://host:5000/v2/a/blobs/uploads/1?_state=x")
	u.Requested("host:5000/a", blob)
	u.NotOpened("host:5000/a", blob)
	u.Requested("host:5000/a", blob)
	u.Opened("host:5000/a", blob, "https://host:5000/v2/a/blobs/uploads/3")
	u.Ended("https://host:5000/v2/a/blobs/uploads/3")
	for _, repository := range []string{"host:5000/c", "host:5000/b", "host:5000/b"} {
		u.Requested(repository, blob)
	}
	file := filepath.Join(dir, "journal", "mirror.uploads.txt")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the list is %v, %v", info, err)
	}
	defer u.out.Close() // the process is killed here
	u = open()
	fail.Diff(t, []Upload{{"host:5000/a", blob, "https://host:5000/v2/a/blobs/uploads/2"}}, u.Pending())
	earlier := elements.Map(u.Earlier(), func(e Upload) string { return filepath.Base(e.Location) })
	fail.Diff(t, []string{"2", "1?_state=x", "3"}, earlier)
	if n, repositories := u.Lost(); n != 3 || !slices.Equal(repositories, []string{"host:5000/b", "host:5000/c"}) {
		t.Errorf("%d responses are missing, of %v", n, repositories)
	}
	u.ForgetLost()
	u.Opened("host:5000/a", blob, "https://host:5000/v2/a/blobs/uploads/1")
	if left := u.Pending(); len(left) != 2 || left[0].Location != "https://host:5000/v2/a/blobs/uploads/1" {
		t.Errorf("with one of this run, %+v are open", left)
	}
	u.Ended("https://host:5000/v2/a/blobs/uploads/1")
	u.Ended("https://host:5000/v2/a/blobs/uploads/2")
	fail.On(t, u.Close())
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("an empty list stays: %v", err)
	}
}
