package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// An archiver measures archives of images with a gantry program.
type archiver struct {
	gantry  string
	modes   []string // of --compact
	flags   []string // for writing archives
	zstd    bool     // compress the content with zstd, too
	layers  string   // the compressor of the images' layers
	dir     string   // of the corpus
	scratch string
}

// A usage is what a program needed.
type usage struct {
	wall, cpu time.Duration
	peak      int64 // bytes
}

// An archived is an archive in one mode.
type archived struct {
	bytes       int64
	write, load usage
}

// A row is about the archives of some images.
type row struct {
	name           string
	images         int
	content, blobs int64 // bytes; what several images have counts once
	archives       []archived
	zstd           int64 // bytes
}

func runCompact(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := newFlags("compact", stderr)
	gantry := flags.String("gantry", "", "the gantry `program`")
	modes := flags.String("modes", "off,auto,max", "the `modes` of --compact")
	more := flags.String("flags", "", "further `flags` of gantry mirror for writing archives, separated by spaces")
	withZstd := flags.Bool("zstd", false, "compress the content with zstd -19 --long=31 for comparison; takes long")
	layers := flags.String("compressor", compressors()[0].name, "the `compressor` of the layers: go-gzip or pgzip")
	wanted, err := flags.parse(args)
	if err != nil {
		return err
	}
	if *gantry == "" {
		return usageError("name the gantry program with -gantry")
	}
	c, err := readCorpus(*flags.dir)
	if err != nil {
		return err
	}
	a := archiver{gantry: *gantry, modes: strings.Split(*modes, ","), flags: strings.Fields(*more), zstd: *withZstd, layers: *layers, dir: *flags.dir}
	if a.scratch, err = os.MkdirTemp(a.dir, "compact-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(a.scratch) }()
	var table strings.Builder
	fmt.Fprintf(&table, "<!-- Measured by make compact-corpus. -->\n# Compact archives, measured\n\n"+
		"Images of real programs, a few adjacent versions each, in archives that `gantry mirror --compact` wrote and `gantry mirror --from` imported into an empty\n"+
		"registry, where every blob was compared with its digest. blobs: the unique compressed layers. The last column is one stream over the uncompressed layers.\n\n"+
		"%s, %d cores, %s/%s. Several numbers in a cell are for --compact %s. Percentages are of the blobs, which %s made.\n\n"+
		"| content | images | content MB | blobs MB | archive %% | write: s | CPU s | peak MB | import: s | CPU s | peak MB | zstd -19 --long=31 %% |\n"+
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, strings.ReplaceAll(*modes, ",", " / "), *layers)
	for _, g := range c.groups(wanted) {
		r, err := a.measure(ctx, g)
		if err != nil {
			return fmt.Errorf("measuring archives of %s: %w", g.name, err)
		}
		_, _ = fmt.Fprint(stderr, r)
		table.WriteString(r.String())
	}
	_, err = io.WriteString(stdout, table.String())
	return err
}

// A group is images for one archive.
type group struct {
	name   string
	layers []layer
}

// groups returns the images of each kind, all of them, and the newest of each series.
func (c *corpus) groups(wanted func(name, kind string) bool) (groups []group) {
	all, newest, last := group{name: "all"}, group{name: "one version of each"}, map[string]int{}
	for _, kind := range imageKinds {
		g := group{name: kind}
		for _, l := range c.Layers {
			if l.Compact && l.Kind == kind && wanted(l.Series, l.Kind) {
				g.layers = append(g.layers, l)
				last[l.Series] = len(all.layers) + len(g.layers) - 1
			}
		}
		if len(g.layers) > 0 {
			groups = append(groups, g)
			all.layers = append(all.layers, g.layers...)
		}
	}
	for i, l := range all.layers {
		if last[l.Series] == i {
			newest.layers = append(newest.layers, l)
		}
	}
	if len(groups) > 1 {
		groups = append(groups, all)
	}
	if len(newest.layers) > 0 {
		groups = append(groups, newest)
	}
	return groups
}

// measure writes the images of a group to archives, and imports these.
func (a archiver) measure(ctx context.Context, g group) (row, error) {
	r := row{name: g.name, images: len(g.layers)}
	source := newLoopback()
	server := httptest.NewServer(source)
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	config := "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  additionalImages:\n"
	seen := map[string]bool{}
	for _, l := range g.layers {
		b, ok := l.compressed(a.layers)
		if !ok {
			return r, fmt.Errorf("%s %s is not there as %s: build the images again", l.Series, l.Version, a.layers)
		}
		image, err := source.add(l, b, filepath.Join(a.dir, b.File))
		if err != nil {
			return r, err
		}
		config += "  - name: " + host + "/" + image + "\n"
		if !seen[b.SHA256] {
			r.content += l.Size
			r.blobs += b.Size
		}
		seen[b.SHA256] = true
	}
	for _, mode := range a.modes {
		one, err := a.archive(ctx, source, config, mode)
		if err != nil {
			return r, fmt.Errorf("with --compact %s: %w", mode, err)
		}
		r.archives = append(r.archives, one)
	}
	var err error
	if a.zstd {
		r.zstd, err = a.reference(ctx, g.layers)
	}
	return r, err
}

// archive writes an archive and imports it into an empty registry, which has to receive every image
// of the source and every blob with its digest.
func (a archiver) archive(ctx context.Context, source *loopback, config, mode string) (one archived, err error) {
	dir, err := os.MkdirTemp(a.scratch, mode+"-")
	if err != nil {
		return one, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	configFile, disk := filepath.Join(dir, "imageset.yaml"), filepath.Join(dir, "disk")
	if err := os.WriteFile(configFile, []byte(config), 0o600); err != nil {
		return one, err
	}
	args := append([]string{"-c", configFile, "--compact", mode, "--workspace", filepath.Join(dir, "connected")}, a.flags...)
	if one.write, err = a.mirror(ctx, append(args, "file://"+disk)...); err != nil {
		return one, err
	}
	if err := filepath.WalkDir(disk, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			one.bytes += info.Size()
		}
		return err
	}); err != nil {
		return one, err
	}
	site := newLoopback()
	server := httptest.NewServer(site)
	defer server.Close()
	one.load, err = a.mirror(ctx, "--from", "file://"+disk, "--workspace", filepath.Join(dir, "site"), "docker://"+strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		return one, err
	}
	return one, site.compare(source)
}

// mirror runs gantry mirror.
func (a archiver) mirror(ctx context.Context, args ...string) (usage, error) {
	cmd := exec.CommandContext(ctx, a.gantry, append([]string{"mirror", "--progress", "none"}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return usage{}, fmt.Errorf("running %s: %w\n%s", cmd, err, &out)
	}
	u := usage{wall: time.Since(began), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.peak = r.Maxrss << 10 // in kilobytes on Linux, see getrusage(2)
	}
	return u, nil
}

// reference compresses the tar archives of all layers together.
func (a archiver) reference(ctx context.Context, layers []layer) (int64, error) {
	var readers []io.Reader
	for _, l := range layers {
		f, err := os.Open(filepath.Join(a.dir, l.Tar))
		if err != nil {
			return 0, err
		}
		defer func() { _ = f.Close() }()
		readers = append(readers, f)
	}
	var n counter
	err := program("zstd", "-19", "--long=31", "-T1", "-q", "-c")(ctx, &n, io.MultiReader(readers...))
	return int64(n), err
}

type counter int64

func (n *counter) Write(p []byte) (int, error) {
	*n += counter(len(p))
	return len(p), nil
}

// String returns the row of a table in Markdown.
func (r row) String() string {
	cell := func(f func(archived) float64) string {
		var all []string
		for _, one := range r.archives {
			all = append(all, fmt.Sprintf("%.1f", f(one)))
		}
		return strings.Join(all, " / ")
	}
	part := func(n int64) float64 { return 100 * float64(n) / float64(r.blobs) }
	cells := []string{
		r.name, fmt.Sprint(r.images), fmt.Sprintf("%.1f", float64(r.content)/1e6), fmt.Sprintf("%.1f", float64(r.blobs)/1e6),
		cell(func(one archived) float64 { return part(one.bytes) }),
	}
	for _, of := range []func(archived) usage{
		func(one archived) usage { return one.write },
		func(one archived) usage { return one.load },
	} {
		cells = append(cells,
			cell(func(one archived) float64 { return of(one).wall.Seconds() }),
			cell(func(one archived) float64 { return of(one).cpu.Seconds() }),
			cell(func(one archived) float64 { return float64(of(one).peak) / 1e6 }))
	}
	reference := ""
	if r.zstd > 0 {
		reference = fmt.Sprintf("%.1f", part(r.zstd))
	}
	return "| " + strings.Join(append(cells, reference), " | ") + " |\n"
}
