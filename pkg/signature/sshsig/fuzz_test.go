package sshsig

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// FuzzParse checks that a signature that was read is written and read back equal.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.sig")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		fail.On(f, err)
		f.Add(text)
		f.Add(text[:len(text)/2])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		armored := s.Armor()
		again, err := Parse(armored)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, armored)
		}
		if !bytes.Equal(again.Armor(), armored) || again.Namespace != s.Namespace || again.Hash != s.Hash {
			t.Errorf("%+v became %+v", s, again)
		}
		_ = s.Verify(s.Namespace, strings.NewReader("content")) // must not panic
	})
}

// FuzzAllowedSigners checks that each line is read independently of the others, and that a signer
// whom a line allows is also allowed without the options of that line.
func FuzzAllowedSigners(f *testing.F) {
	f.Add("ops@example.com "+edKey, "ops@example.com")
	f.Add(`a,!b,*.c namespaces="x,g*",valid-after="20260101Z",valid-before="202701010000" `+edKey+"\n# x\nd cert-authority "+edKey, "x.c")
	f.Add(`"a b" namespaces="a\"b" `+edKey, "a b")
	now := time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text, principal string) {
		s, err := ParseAllowedSigners([]byte(text), time.UTC)
		if err != nil {
			return
		}
		var lines []string
		for line := range strings.Lines(text) {
			if one, err := ParseAllowedSigners([]byte(line), time.UTC); err == nil {
				if len(one.lines) != 1 {
					t.Fatalf("a line has %d keys: %q", len(one.lines), line)
				}
				lines = append(lines, line)
			}
		}
		if len(lines) != len(s.lines) {
			t.Fatalf("%d lines have keys, the file has %d", len(lines), len(s.lines))
		}
		for i := range s.lines {
			one := s.lines[i]
			if one.refuses(namespace, principal, now) != "" {
				continue
			}
			if one.options.authority || principal != "" && !matchList(principal, one.principals) {
				t.Fatalf("line %q allows %q", lines[i], principal)
			}
			one.options = options{}
			if problem := one.refuses(namespace, principal, now); problem != "" {
				t.Fatalf("line %q without its bounds: %s", lines[i], problem)
			}
		}
	})
}
