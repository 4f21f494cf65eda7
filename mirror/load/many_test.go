package load

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// mostMemory is how much memory a run of 50,000 images may take, in bytes. Fewer images may take the same, for simplicity.
const mostMemory = 150e6

// TestManyImages takes many images through every workflow, and limits the memory of each.
func TestManyImages(t *testing.T) {
	t.Parallel()
	n := 2000
	if mirrortest.Short(t) {
		n = 200
	}
	if full() != "" {
		n = 50_000
	}
	from := newSource(n + n/100)
	source, mirror, site := rt.Serve(t, rt.Options{}, from), rt.Serve(t, rt.Options{}, rt.Memory()), rt.Serve(t, rt.Options{}, rt.Memory())
	p := newProgram(t)
	p.config("all.yaml", from.names(source.Host, n))
	p.config("more.yaml", from.names(source.Host, n+n/100))
	p.config("fewer.yaml", from.names(source.Host, n-n/100))
	var table strings.Builder
	fmt.Fprintf(&table, "**%d images** in %d repositories\n\n| workflow | s | peak MB | requests: source | destination |\n|---|--:|--:|--:|--:|\n", n, n/perRepository)
	step := func(name, args string) run {
		t.Helper()
		for _, s := range []*rt.Server{source, mirror, site} {
			s.ResetLog()
		}
		args = strings.NewReplacer("MIRROR", "docker://"+mirror.Host+"/m", "SITE", "docker://"+site.Host+"/s").Replace(args)
		r := p.must(name, args+" --progress none")
		fmt.Fprintf(&table, "| %s | %.1f | %.0f | %d | %d |\n", name, r.took.Seconds(), float64(r.peak)/1e6, len(source.Log()), len(mirror.Log())+len(site.Log()))
		if r.peak > mostMemory {
			t.Errorf("%s took %d bytes of memory, want at most %.0f", name, r.peak, mostMemory)
		}
		return r
	}
	step("plan", "plan -c DIR/all.yaml --name all --workspace DIR/w1 MIRROR")
	step("registry to registry", "mirror -c DIR/all.yaml --name all --workspace DIR/w1 MIRROR")
	if again := step("nothing new", "mirror -c DIR/all.yaml --name all --workspace DIR/w1 MIRROR"); !strings.Contains(again.output, "Nothing to copy") {
		t.Errorf("the second run copied something:\n%s", again.output)
	}
	step("verify", "verify --workspace DIR/w1 MIRROR")
	step("to archive", "mirror -c DIR/all.yaml --name all --workspace DIR/w2 file://DIR/disk")
	step("from archive", "mirror --from file://DIR/disk --workspace DIR/w3 SITE")
	step("increment to archive", "mirror -c DIR/more.yaml --name all --workspace DIR/w2 file://DIR/disk")
	step("increment from archive", "mirror --from file://DIR/disk --workspace DIR/w3 SITE")
	step("compact archive", "mirror -c DIR/all.yaml --name all --compact auto --workspace DIR/w4 file://DIR/compact")
	step("verify an archive", "verify file://DIR/compact")
	step("fewer images", "mirror -c DIR/fewer.yaml --name all --workspace DIR/w1 MIRROR")
	step("prune", "prune --yes --workspace DIR/w1 MIRROR")
	for _, i := range []int{0, n / 2, n - n/100 - 1} {
		if _, err := mirror.Client().Pull(t.Context(), "m/"+repository(i), tag(i)); err != nil {
			t.Errorf("after prune: %v", err)
		}
	}
	if _, err := mirror.Client().Pull(t.Context(), "m/"+repository(n-1), tag(n-1)); err == nil {
		t.Error("prune did not delete the last image")
	}
	for i := range n + n/100 {
		if i%97 == 0 {
			_, err := site.Client().Pull(t.Context(), "s/"+repository(i), tag(i))
			fail.On(t, err)
		}
	}
	report(t, table.String())
}
