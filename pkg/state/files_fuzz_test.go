package state

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
)

// FuzzChecksums reads a list of checksums, and a journal. A list that is accepted knows only names of files that exist.
func FuzzChecksums(f *testing.F) {
	f.Add([]byte(digest.FromString("x").Encoded() + "  a\n"))
	f.Add([]byte("abc  a\n\n"))
	dir := f.TempDir()
	fail.On(f, os.WriteFile(filepath.Join(dir, "a"), []byte("x"), 0o600))
	root, err := os.OpenRoot(dir)
	fail.On(f, err)
	f.Cleanup(func() { _ = root.Close() })
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range []string{checksumFile, "journal.txt"} {
			fail.On(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		}
		lines := 0
		j, err := openJournal(root, "journal.txt", 0o600, func(string) { lines++ })
		if err != nil || lines > bytes.Count(text, []byte("\n"))+1 {
			t.Fatalf("%d lines, %v", lines, err)
		}
		fail.On(t, j.Close())
		c, err := readChecksums(durable.Folder{Root: root})
		if err != nil {
			return
		}
		for name := range c.byName {
			if _, err := root.Lstat(name); err != nil {
				t.Errorf("the file %q: %v", name, err)
			}
		}
	})
}

// FuzzEachMember reads the records of a workspace one by one.
func FuzzEachMember(f *testing.F) {
	f.Add([]byte(`{"a":{"version":1},"b":{}}`))
	f.Add([]byte(`[]`))
	f.Add([]byte(`{"a":{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var whole map[string]json.RawMessage
		wholeErr := json.Unmarshal(text, &whole)
		got := map[string]json.RawMessage{}
		err := eachMember(bytes.NewReader(text), func(name string, text io.Reader) error {
			value, err := io.ReadAll(text)
			got[name] = bytes.TrimSpace(value)
			return err
		})
		if err == nil && wholeErr == nil {
			fail.Diff(t, whole, got, cmpopts.EquateEmpty())
		}
		n := 0
		err = eachMember(bytes.NewReader(text), func(_ string, text io.Reader) error {
			n++
			return json.NewDecoder(text).Decode(new(Record))
		})
		if err == nil && n == 0 && !bytes.Contains(text, []byte("{")) {
			t.Errorf("%q is accepted", text)
		}
	})
}
