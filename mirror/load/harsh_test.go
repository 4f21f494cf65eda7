package load

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// harshImages is how many images the runs with faults and on a slow network copy.
const harshImages = 60

// TestRandomFaults makes runs with faults in 5 % of all requests. A run that ends with 0 has mirrored everything, and
// nearly all do; one more run without faults completes the others.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	runs := 6
	if mirrortest.Short(t) {
		runs = 1
	}
	if full() != "" {
		runs = 100
	}
	const seed = 29
	p, from := newProgram(t), newSource(harshImages)
	source := rt.Serve(t, rt.Options{}, from)
	p.config("all.yaml", from.names(source.Host, harshImages))
	r := &dice{r: rand.New(rand.NewPCG(seed, seed))}
	codes, faults := map[int]int{}, 0
	for n := range runs {
		mirror := rt.Serve(t, rt.Options{}, rt.Memory())
		source.Script(rt.Rule{Action: r.fault})
		mirror.Script(rt.Rule{Action: r.fault})
		commands := []string{fmt.Sprintf("mirror -c DIR/all.yaml --workspace DIR/w%d docker://%s", n, mirror.Host)}
		if n%2 == 1 {
			commands = []string{
				fmt.Sprintf("mirror -c DIR/all.yaml --workspace DIR/w%d file://DIR/disk%d", n, n),
				fmt.Sprintf("mirror --from file://DIR/disk%d --workspace DIR/site%d docker://%s", n, n, mirror.Host),
			}
		}
		for _, command := range commands {
			o := p.run("with faults", command+" --progress none --retry-delay 10ms")
			codes[o.code]++
			if o.code == 0 {
				continue
			}
			source.Script()
			mirror.Script()
			p.must("without faults", command+" --progress none")
		}
		mirror.Script()
		for i := range harshImages {
			if _, err := mirror.Client().Pull(t.Context(), repository(i), tag(i)); err != nil {
				t.Errorf("run %d: %v", n, err)
			}
		}
		faults += r.faults()
	}
	source.Script()
	if all := runs + runs/2; codes[0] < all*9/10 {
		t.Errorf("%d of %d commands ended with 0", codes[0], all)
	}
	report(t, fmt.Sprintf("**%d runs with faults in 5 %% of all requests**, seed %d: %d faults; commands by exit status: %v. Everything was there afterwards.\n", runs, seed, faults, codes))
}

// A dice decides which requests get a fault.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
	n  int
}

func (d *dice) faults() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, d.n = d.n, 0
	return n
}

// fault responds as the registry does, or with one of several faults.
func (d *dice) fault(w http.ResponseWriter, r *http.Request, next http.Handler) {
	all := []rt.Action{rt.Status(http.StatusServiceUnavailable), rt.Status(http.StatusTooManyRequests, "Retry-After", "0"), rt.Reset(), rt.LoseResponse(), rt.Cut(20)}
	d.mu.Lock()
	hit, which := d.r.IntN(20) == 0, d.r.IntN(len(all))
	if hit {
		d.n++
	}
	d.mu.Unlock()
	if !hit {
		next.ServeHTTP(w, r)
		return
	}
	all[which](w, r, next)
}

// TestSlowNetwork mirrors over a network with round trips of 200 ms, in which 1 % of the packets are lost, so that TCP sends
// them again after a while.
func TestSlowNetwork(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	images := harshImages
	if full() != "" {
		images = 1000
	}
	p, from := newProgram(t), newSource(images)
	source, mirror := rt.Serve(t, rt.Options{}, from), rt.Serve(t, rt.Options{}, rt.Memory())
	slowSource, slowMirror := slowly(t, source.Host), slowly(t, mirror.Host)
	p.config("all.yaml", from.names(slowSource, images))
	first := p.must("slow network", "mirror -c DIR/all.yaml --workspace DIR/w docker://"+slowMirror+" --progress none")
	second := p.must("slow network", "mirror -c DIR/all.yaml --workspace DIR/w docker://"+slowMirror+" --progress none")
	requests := len(source.Log()) + len(mirror.Log())
	for i := range images {
		_, err := mirror.Client().Pull(t.Context(), repository(i), tag(i))
		fail.On(t, err)
	}
	if alone := time.Duration(requests) * roundTrip; first.took > alone/2 {
		t.Errorf("it took %s, and all requests one after another take %s", first.took, alone)
	}
	if !strings.Contains(second.output, "Nothing to copy") {
		t.Errorf("the second run copied something:\n%s", second.output)
	}
	report(t, fmt.Sprintf("**%d images with round trips of %s and 1 %% loss**: %.1f s, the second run %.1f s, %d requests\n",
		images, roundTrip, first.took.Seconds(), second.took.Seconds(), requests))
}

const (
	roundTrip = 200 * time.Millisecond
	again     = 2 * roundTrip // until TCP sends a lost packet again
)

// slowly returns the address of a slow connection to a server.
func slowly(t *testing.T, to string) string {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	fail.On(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		_ = l.Close() // ends the loop below
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go join(ctx, client, to)
		}
	}()
	return l.Addr().String()
}

// join forwards what two sides send, half a round trip later.
func join(ctx context.Context, client net.Conn, to string) {
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, "tcp", to)
	if err != nil {
		_ = client.Close() // the server is gone
		return
	}
	stop := context.AfterFunc(ctx, func() {
		_ = client.Close()
		_ = server.Close()
	})
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { delay(server, client) })
	both.Go(func() { delay(client, server) })
	both.Wait()
}

// A packet is what was read at once, and when it arrives.
type packet struct {
	content []byte
	at      time.Time
}

// delay forwards one direction until it ends.
func delay(to io.WriteCloser, from io.Reader) {
	packets := make(chan packet, 256)
	go func() {
		defer close(packets)
		for {
			b := make([]byte, 16<<10)
			n, err := from.Read(b)
			if n > 0 {
				at := time.Now().Add(roundTrip / 2)
				if rand.IntN(100) == 0 {
					at = at.Add(again)
				}
				packets <- packet{b[:n], at}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range packets {
		time.Sleep(time.Until(p.at)) //nolint:forbidigo // that is what a slow network does
		if _, err := to.Write(p.content); err != nil {
			break
		}
	}
	_ = to.Close() // the other direction ends, too
	for range packets {
		continue // the reader ends
	}
}
