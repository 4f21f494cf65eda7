package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

const (
	servedVersions = 4 // of a program, in a compact archive
	clients        = 200
)

// TestServe pulls from gantry archive serve with many clients. Some break off. Its memory, descriptors and threads
// do not grow, and no goroutine is left once the clients are gone.
func TestServe(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	last := 4 * time.Second
	if full() != "" {
		last = 10 * time.Minute
	}
	p := newProgram(t)
	source := rt.Serve(t, rt.Options{}, rt.Memory())
	var names []string
	for v := range servedVersions {
		r := rand.New(rand.NewPCG(1, 1))
		var b bytes.Buffer
		for i := 0; b.Len() < 700<<10; i++ {
			fmt.Fprintf(&b, "%x %d\n", r.Uint64(), i)
			if i%500 == 250 {
				fmt.Fprintf(&b, "version %d\n", v)
			}
		}
		img, err := rt.FilesImage(v1.Platform{OS: "linux", Architecture: "amd64"}, v1.Config{}, []rt.File{{Name: "server", Data: b.Bytes(), Mode: 0o755}})
		fail.On(t, err)
		_, err = source.Client().Push(t.Context(), "org/app", fmt.Sprint("v", v), img)
		fail.On(t, err)
		names = append(names, fmt.Sprintf("%s/org/app:v%d", source.Host, v))
	}
	p.config("all.yaml", names)
	p.must("write", "mirror -c DIR/all.yaml --compact max --workspace DIR/w file://DIR/disk --progress none")

	cmd := p.command("archive serve file://DIR/disk --listen 127.0.0.1:0")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	fail.On(t, err)
	var text bytes.Buffer
	cmd.Stderr = cmd.Stdout
	fail.On(t, cmd.Start())
	lines, address := bufio.NewScanner(out), ""
	for address == "" && lines.Scan() {
		address = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).FindString(lines.Text())
	}
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(&text, out)
		read <- err
	}()
	c := &crowd{host: address, transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	for v := range servedVersions { // which fills the cache of what is made from deltas
		fail.On(t, c.image(t.Context(), fmt.Sprint("v", v), false))
	}
	began := usage(t, cmd.Process.Pid)
	early, late := c.pull(t, cmd.Process.Pid, last)
	c.transport.CloseIdleConnections()
	idle := usage(t, cmd.Process.Pid)
	for end := time.Now().Add(20 * time.Second); idle.files > began.files && time.Now().Before(end); idle = usage(t, cmd.Process.Pid) {
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // a test waits for a process
	}
	fail.On(t, cmd.Process.Signal(syscall.SIGQUIT)) // prints the goroutines
	fail.On(t, <-read)
	_ = cmd.Wait() // QUIT ends it with 2
	goroutines := strings.Count(text.String(), "\ngoroutine ")
	if idle.files > began.files {
		t.Errorf("%d descriptors are open after the clients left, %d before", idle.files, began.files)
	}
	if goroutines == 0 || goroutines > 20 {
		t.Errorf("%d goroutines are left:\n%.8000s", goroutines, &text)
	}
	if full() != "" && (late.memory > early.memory*5/4 || late.threads > early.threads+8) { // otherwise it has just begun
		t.Errorf("it grew from %+v to %+v", early, late)
	}
	report(t, fmt.Sprintf("**%d clients of archive serve for %s**: %d pulls, %d broken off; memory %.0f MB in the first fifth, %.0f MB in the rest; descriptors %d before, %d after; %d goroutines after\n",
		clients, last, c.pulls.Load(), c.broken.Load(), float64(early.memory)/1e6, float64(late.memory)/1e6, began.files, idle.files, goroutines))
}

// A use is what a process uses.
type use struct {
	memory         int64 // bytes
	threads, files int
}

func (u use) most(other use) use {
	return use{max(u.memory, other.memory), max(u.threads, other.threads), max(u.files, other.files)}
}

// usage reads what a process uses.
func usage(t *testing.T, pid int) (u use) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/", pid)
	text, err := os.ReadFile(dir + "status")
	fail.On(t, err)
	for line := range strings.Lines(string(text)) {
		var n int64
		if count, _ := fmt.Sscanf(line, "VmRSS: %d kB", &n); count == 1 {
			u.memory = n << 10
		}
		if count, _ := fmt.Sscanf(line, "Threads: %d", &n); count == 1 {
			u.threads = int(n)
		}
	}
	files, err := os.ReadDir(dir + "fd")
	fail.On(t, err)
	u.files = len(files)
	return u
}

// A crowd pulls with many clients.
type crowd struct {
	host          string
	transport     *http.Transport
	pulls, broken atomic.Int64
}

// pull pulls until the time is over. It returns what the server used at most in the first fifth of it, and in the rest.
func (c *crowd) pull(t *testing.T, pid int, last time.Duration) (early, late use) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), last)
	defer cancel()
	var all sync.WaitGroup
	for n := range clients {
		r := rand.New(rand.NewPCG(29, uint64(n)))
		all.Go(func() {
			for ctx.Err() == nil {
				if err := c.image(ctx, fmt.Sprint("v", r.IntN(servedVersions)), r.IntN(10) == 0); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	began := time.Now()
	tick := time.NewTicker(last / 200)
	defer tick.Stop()
	for ctx.Err() == nil {
		if now := usage(t, pid); time.Since(began) < last/5 {
			early = early.most(now)
		} else {
			late = late.most(now)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	all.Wait()
	return early, late
}

// image pulls an image, or breaks off in its layer.
func (c *crowd) image(ctx context.Context, tag string, breaks bool) error {
	raw, err := c.get(ctx, "manifests/"+tag, -1)
	if err != nil {
		return err
	}
	for _, d := range regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindAllString(string(raw), -1) {
		if breaks {
			if _, err := c.get(ctx, "blobs/"+d, 1000); err != nil {
				return err
			}
			c.broken.Add(1)
			continue
		}
		content, err := c.get(ctx, "blobs/"+d, -1)
		if err != nil {
			return err
		}
		if got := digest.FromBytes(content); got != digest.Digest(d) {
			return fmt.Errorf("the content of %s has the digest %s", d, got)
		}
	}
	c.pulls.Add(1)
	return nil
}

// get reads a response, or its first bytes.
func (c *crowd) get(ctx context.Context, path string, first int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.host+"/v2/org/app/"+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{Transport: c.transport}).Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it was read, or is broken off
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, resp.Status)
	}
	if first > 0 {
		return io.ReadAll(io.LimitReader(resp.Body, first))
	}
	return io.ReadAll(resp.Body)
}
