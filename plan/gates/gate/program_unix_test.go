//go:build unix

package gate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/plan/gates/gate"
)

// script writes a program.
func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "gate.sh")
	fail.On(t, os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	return file
}

func find(t *testing.T, text string, o gate.Options) *gate.Program {
	t.Helper()
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	p, err := gate.Find(script(t, text), o)
	fail.On(t, err)
	return p
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		program string
		want    gate.Answer
		failed  string
	}{
		"accepted":            {"echo no findings", gate.Answer{Accepted: true, Reason: "no findings"}, ""},
		"refused":             {"printf 'CVE-1\\n CVE-2\\n'; echo noise >&2; exit 1", gate.Answer{Reason: "CVE-1 CVE-2"}, ""},
		"refused on stderr":   {"echo bad >&2; exit 1", gate.Answer{Reason: "bad"}, ""},
		"failed":              {"echo table; echo no database >&2; exit 3", gate.Answer{}, "gate.sh ended with status 3: no database"},
		"killed":              {"kill -9 $$", gate.Answer{}, "a signal ended "},
		"subject and input":   {`read line; echo "$1 $line $EXTRA"`, gate.Answer{Accepted: true, Reason: "a b;c {} x y"}, ""},
		"much output":         {"yes | head -c 100000; exit 1", gate.Answer{Reason: strings.TrimSpace(strings.Repeat("y ", 1024)) + " ..."}, ""},
		"bytes are no text":   {`printf 'a\377b'`, gate.Answer{Accepted: true, Reason: "ab"}, ""},
		"process left behind": {"sleep 5 & echo ok", gate.Answer{Accepted: true, Reason: "ok"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := gate.Question{Subject: "a b;c", Input: strings.NewReader("{}\n"), Variables: []string{"EXTRA=x y"}}
			got, err := find(t, tc.program, gate.Options{}).Ask(t.Context(), q)
			var failed *gate.FailedError
			switch {
			case tc.failed != "" && (!errors.As(err, &failed) || !strings.Contains(err.Error(), tc.failed)):
				t.Errorf("the error is %v, want %s", err, tc.failed)
			case tc.failed == "" && err != nil:
				t.Error(err)
			}
			fail.Diff(t, tc.want, got)
		})
	}
}

// A program need not read its input, however long it is.
func TestUnreadInput(t *testing.T) {
	t.Parallel()
	got, err := find(t, "exit 0", gate.Options{}).Ask(t.Context(), gate.Question{Input: strings.NewReader(strings.Repeat("x", 1<<20))})
	if err != nil || !got.Accepted {
		t.Error(got, err)
	}
}

// When the context ends, or the time is over, all processes of the program end.
func TestProcessesEnd(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]gate.Options{"interrupted": {}, "too slow": {Timeout: 2 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pid := filepath.Join(t.TempDir(), "pid")
			// Neither the program nor its child ends on TERM.
			p := find(t, `trap '' TERM; sh -c 'trap "" TERM; echo $$ > "$0"; while :; do sleep 0.05; done' "$1" & wait; while :; do sleep 0.05; done`, o)
			ctx, cancel := context.WithCancelCause(t.Context())
			stopped := errors.New("stopped")
			if o.Timeout == 0 {
				go func() {
					for ctx.Err() == nil {
						if text, err := os.ReadFile(pid); err == nil && len(text) > 0 {
							cancel(stopped)
						}
						time.Sleep(10 * time.Millisecond) //nolint:forbidigo // a test waits for a process
					}
				}()
			}
			_, err := p.Ask(ctx, gate.Question{Subject: pid})
			cancel(nil)
			if o.Timeout == 0 && !errors.Is(err, stopped) || o.Timeout > 0 && (err == nil || !strings.Contains(err.Error(), "took longer than 2s")) {
				t.Errorf("the error is %v", err)
			}
			text, err := os.ReadFile(pid)
			fail.On(t, err)
			child, err := strconv.Atoi(strings.TrimSpace(string(text)))
			fail.On(t, err)
			for end := time.Now().Add(30 * time.Second); !ended(child); {
				if time.Now().After(end) {
					t.Fatalf("the child %d runs", child)
				}
				time.Sleep(10 * time.Millisecond) //nolint:forbidigo // a test waits for a process
			}
		})
	}
}

// ended reports whether a process does not run. It may be a zombie if its new parent does not wait for it.
func ended(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestNoSecretsInEnvironment(t *testing.T) {
	t.Parallel()
	environ := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/h", "LC_ALL=C", "XDG_CACHE_HOME=/c", "https_proxy=http://proxy:3128", "HTTP_PROXY=http://u:p@proxy:3128", "ALL_PROXY=u:p@proxy",
		"AWS_SECRET_ACCESS_KEY=s", "GANTRY_PASSWORD=s", "TRIVY_PASSWORD=s", "SSH_AUTH_SOCK=/s", "TOKEN=s", "broken",
	}
	want := []string{environ[0], "HOME=/h", "LC_ALL=C", "XDG_CACHE_HOME=/c", "https_proxy=http://proxy:3128"}
	fail.Diff(t, want, gate.Environment(environ))
	got, err := find(t, "env", gate.Options{Environ: environ}).Ask(t.Context(), gate.Question{})
	if err != nil || strings.Contains(got.Reason, "=s") || strings.Contains(got.Reason, "u:p@") {
		t.Error(got, err)
	}
}

func TestNoProgram(t *testing.T) {
	t.Parallel()
	if _, err := gate.Find(filepath.Join(t.TempDir(), "none"), gate.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
