//go:build amd64 || arm64

package faults

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
	workspace "github.com/gantry-mirror/gantry/pkg/state"
)

// crashWorkflows are the columns of the matrix in which the program is killed.
var crashWorkflows = []string{"registry", "to archive", "from archive", "increment", "compact", "prune"}

// TestCrashes kills the program at numbered points of its workflows, or lets the machine lose power there: at each system call
// that changes a file or sends something, and at each request that was processed and has no response. If $GANTRY_CRASHES names
// the file for the report, the program is killed at $GANTRY_CRASH_POINTS (200) points of each workflow, evenly spread, and a
// fifth as often it loses power. With -short, it is once killed in half of the workflows, and else at four random points: the seed is logged, and
// $GANTRY_CRASH_SEED repeats it. It always loses power after the end, too.
func TestCrashes(t *testing.T) {
	t.Parallel()
	report := newCrashReport(t)
	report.skip(t)
	t.Run("workflows", func(t *testing.T) {
		for i := range crashWorkflows {
			if report.kills == 1 && i%2 == 1 {
				continue // make test has half of them
			}
			t.Run(crashWorkflows[i], func(t *testing.T) {
				t.Parallel()
				report.run(t, i)
			})
		}
	})
	text := "| workflow | points | killed at | FAILED | power lost at | FAILED | ended before | minutes |\n|---|--:|--:|--:|--:|--:|--:|--:|\n" + strings.Join(report.rows, "")
	t.Log("\n" + text)
	if report.file != "" {
		fail.On(t, os.WriteFile(report.file, []byte(text), 0o644))
	}
}

// A crashReport is how many crashes there are, and what became of them.
type crashReport struct {
	program, file string
	kills, losses int
	random        *rand.Rand // nil: the points are evenly spread
	mu            sync.Mutex // of random
	rows          []string   // by workflow
}

func newCrashReport(t *testing.T) *crashReport {
	t.Helper()
	r := &crashReport{program: mirrortest.Program(t), file: os.Getenv("GANTRY_CRASHES"), kills: 4, losses: 4, rows: make([]string, len(crashWorkflows))}
	number := func(variable string, otherwise uint64) uint64 {
		n, err := strconv.ParseUint(cmp.Or(os.Getenv(variable), fmt.Sprint(otherwise)), 10, 64)
		fail.On(t, err)
		return n
	}
	switch {
	case r.file != "":
		r.kills = int(number("GANTRY_CRASH_POINTS", 200))
		r.losses = max(1, r.kills/5)
	case mirrortest.Short(t):
		r.kills, r.losses = 1, 0
	default:
		seed := number("GANTRY_CRASH_SEED", uint64(time.Now().UnixNano()))
		t.Logf("GANTRY_CRASH_SEED=%d", seed)
		r.random = rand.New(rand.NewPCG(seed, 0))
	}
	return r
}

// skip skips the test where system calls cannot be watched.
func (r *crashReport) skip(t *testing.T) {
	t.Helper()
	var out bytes.Buffer
	w := &watcher{t: t, dir: t.TempDir()}
	cmd := exec.CommandContext(t.Context(), r.program, "version")
	cmd.Env, cmd.Stderr = os.Environ(), &out
	w.start(cmd)()
	switch {
	case strings.HasPrefix(out.String(), watchProblem):
		t.Skipf("this system does not let tests watch system calls: %s", out.String())
	case cmd.ProcessState.ExitCode() != 0:
		t.Fatal(out.String())
	}
}

// run crashes a workflow.
func (r *crashReport) run(t *testing.T, workflow int) {
	t.Helper()
	began := time.Now()
	s := newCrashSite(t, rt.TempDir(t), r.program, crashWorkflows[workflow])
	early, bad := 0, [2]int{}
	at := func(kind int, name string, point int, until func(c *crash) string) {
		ok := t.Run(fmt.Sprintf("%s at %d", name, point), func(t *testing.T) {
			c := s.cell(t)
			c.putBack()
			what := until(c)
			if what == "" && point > 0 {
				early++
			}
			c.check()
			if t.Failed() {
				t.Logf("it was at %q, point %d of %d", what, point, s.points())
			}
		})
		if !ok {
			bad[kind]++
		}
	}
	for _, point := range r.points(r.kills, s.points()) {
		at(0, "killed", point, func(c *crash) string { return c.until(point, nil) })
	}
	all := losses()
	for i, point := range r.points(r.losses, s.points()) {
		l := all[i%len(all)]
		at(1, l.name, point, func(c *crash) string { return c.losePower(point, l) })
	}
	ends := all[:max(1, min(len(all), r.losses))]
	for _, l := range ends {
		at(1, l.name, 0, func(c *crash) string { return c.losePower(0, l) }) // after the end
	}
	if early > max(1, r.kills/4) { // how many points a run has differs: goroutines wait for each other
		t.Errorf("%d runs ended before their point", early)
	}
	r.rows[workflow] = fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %.1f |\n", crashWorkflows[workflow], s.points(),
		r.kills, bad[0], r.losses+len(ends), bad[1], early, time.Since(began).Minutes())
}

// points chooses n of a number of points.
func (r *crashReport) points(n, of int) (points []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range n {
		if r.random != nil {
			points = append(points, 1+r.random.IntN(of))
		} else {
			points = append(points, 1+(2*i+1)*of/(2*n))
		}
	}
	return points
}

// A crashSite is where the crashes of one workflow happen. All have the same names, since everything is put back before each.
type crashSite struct {
	*site
	workflow workflow
	began    *inode   // the files before the workflow
	had      rt.Saved // the mirror before it
	calls    int      // points of an undisturbed run: system calls
	requests [2]int   // and responses of the source and the mirror
	want     state
	names    []string // of what is in the workspaces, and of records in the mirror
}

// newCrashSite runs the workflow once, undisturbed.
func newCrashSite(t *testing.T, dir, program, name string) *crashSite {
	t.Helper()
	s := &crashSite{site: newSiteIn(t, dir, program, rt.Options{}, false)}
	all := s.workflows()
	s.workflow = all[slices.IndexFunc(all, func(w workflow) bool { return w.name == name })]
	c := s.cell(t)
	c.through(s.workflow.before, true)
	var err error
	s.began, err = readInode(s.dir)
	fail.On(t, err)
	s.had = s.mirror.Save()
	c.forget()
	w := &watcher{t: t, dir: s.dir}
	c.watch = w.start
	c.through(s.workflow.commands, true)
	s.calls, s.requests = w.point, [2]int{len(s.source.Log()), len(s.mirror.Log())}
	s.want, s.names = c.state(), c.own()
	return s
}

// points is how many points the workflow has.
func (s *crashSite) points() int { return s.calls + s.requests[0] + s.requests[1] }

func (s *crashSite) cell(t *testing.T) *crash {
	return &crash{cell: &cell{site: s.site, t: t, name: "crash", workflow: s.workflow, fault: fault{killed: true, lost: true}}, at: s}
}

// A crash is a run of the workflow that ends at a point.
type crash struct {
	*cell
	at       *crashSite
	promised map[string]digest.Digest // of files, by commands that ended with 0
	// lostPower means that what the workspace knew of copied blobs may be gone.
	lostPower bool
}

// through runs commands as long as they succeed.
func (c *crash) through(commands []string, must bool) (o outcome) {
	c.t.Helper()
	for _, command := range commands {
		if o = c.run(command, 0); o.code != 0 {
			if must {
				c.t.Errorf("%s ended with %d:\n%s", command, o.code, o.output)
			}
			break
		}
		c.promised = c.digests()
	}
	return o
}

// putBack makes everything be as before the workflow.
func (c *crash) putBack() {
	c.t.Helper()
	all, err := os.ReadDir(c.dir)
	fail.On(c.t, err)
	for _, e := range all {
		fail.On(c.t, os.RemoveAll(filepath.Join(c.dir, e.Name())))
	}
	fail.On(c.t, c.at.began.write(c.dir, nil, func() bool { return false }))
	c.mirror.Restore(c.at.had)
	c.folder("temporary-" + c.name)
	c.forget()
	c.promised = c.digests()
}

// until runs the workflow until a point, and returns what the point was; "" if the run ended before.
func (c *crash) until(point int, d *disk) string {
	c.t.Helper()
	w := &watcher{t: c.t, dir: c.dir, disk: d}
	c.watch = w.start
	defer func() { c.watch = nil }()
	nth := point - c.at.calls
	switch {
	case nth <= 0:
		w.killAt = point
	case nth <= c.at.requests[0]:
		c.source.Script(w.unanswered(nth))
	default:
		c.mirror.Script(w.unanswered(nth - c.at.requests[0]))
	}
	c.through(c.workflow.commands, false)
	c.source.Script()
	c.mirror.Script()
	c.source.Settle()
	c.mirror.Settle()
	return w.what
}

// unanswered kills the process once a request was processed, before it has a response.
func (w *watcher) unanswered(nth int) rt.Rule {
	return rt.Rule{Nth: nth, Action: func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		w.what = "response to " + r.Method + " " + r.URL.Path
		_ = w.process.Kill() // it waits for the response
		<-r.Context().Done()
	}}
}

// own returns the names of what Gantry keeps for itself: in the workspaces, and its records and leases in the mirror.
func (c *crash) own() (names []string) {
	c.t.Helper()
	for _, name := range append(c.files("work-"+c.name), c.files("site-"+c.name)...) {
		if !strings.Contains(name, "/cache/") {
			names = append(names, name)
		}
	}
	all, err := c.mirror.Repositories(".")
	fail.On(c.t, err)
	for _, r := range all {
		for tag := range r.Tags {
			if !strings.HasSuffix(tag, ".pending") { // prune removes what a run that was killed left
				names = append(names, r.Name+":"+tag)
			}
		}
	}
	slices.Sort(names)
	return names
}

// digests returns the digest of each file that commands promised with exit status 0: those on the disk and in the workspaces,
// without the cache.
func (c *crash) digests() map[string]digest.Digest {
	c.t.Helper()
	all := map[string]digest.Digest{}
	for _, dir := range []string{"disk-", "work-", "site-"} {
		for _, name := range c.files(dir + c.name) {
			if strings.Contains(name, "/cache/") || strings.HasSuffix(name, "/lock") {
				continue
			}
			text, err := os.ReadFile(c.path(name))
			fail.On(c.t, err)
			all[name] = digest.FromBytes(text)
		}
	}
	return all
}

// losePower is until with a power failure at that point.
func (c *crash) losePower(point int, l loss) string {
	c.t.Helper()
	d, err := newDisk(c.dir)
	fail.On(c.t, err)
	return c.lose(point, d, func() error { return d.fail(l, rand.New(rand.NewPCG(uint64(point), 0))) })
}

// lose runs the workflow until a point, loses what is not synced, and checks that nothing else was lost.
func (c *crash) lose(point int, d *disk, lose func() error) string {
	c.t.Helper()
	what := c.until(point, d)
	before := c.digests()
	fail.On(c.t, lose())
	after := c.digests()
	var lost []string
	for name, want := range c.promised {
		if before[name] == want && after[name] != want { // the rest was changed since
			lost = append(lost, name)
		}
	}
	if slices.Sort(lost); len(lost) > 0 {
		c.t.Errorf("%q of commands that ended with 0 are missing or altered", lost)
	}
	c.lostPower = true
	return what
}

// check compares what is there after the crash, and after another run, with what an undisturbed run made.
func (c *crash) check() {
	c.t.Helper()
	c.consistent()
	c.audited()
	if sets, _ := filepath.Glob(filepath.Join(c.disk(), "gantry-*.json")); len(sets) > 0 {
		if o := c.run("verify file://DISK-NAME", 0); o.code != 0 {
			c.t.Errorf("what looks like an archive is none:\n%s", o.output)
		}
	}
	before := c.copied()
	c.forget()
	c.through(c.workflow.commands, true)
	for blob := range c.copied() {
		if before[blob] && !c.lostPower && !strings.HasPrefix(blob, "GET ") {
			c.t.Errorf("the next run copied %s again", blob)
		}
	}
	c.audited()
	c.same("the next run made something else than an undisturbed one", c.at.want)
	fail.Diff(c.t, c.at.names, c.own())
	if left := c.files("temporary-" + c.name); len(left) > 0 {
		c.t.Errorf("%q was left", left)
	}
}

// audited checks that the audit logs are whole.
func (c *crash) audited() {
	c.t.Helper()
	for _, dir := range []string{"work-", "site-"} {
		result, err := workspace.ReadAudit(c.path(dir+c.name), 1)
		if err == nil && len(result.Problems) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.t.Errorf("the audit log: %v %v", result, err)
		}
	}
}
