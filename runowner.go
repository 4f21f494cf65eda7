package gantry

import (
	"io"
	"os"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/lockfile"
	"github.com/gantry-mirror/gantry/pkg/regular"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/plan"
)

// planWriter writes the JSON of a plan.
type planWriter = func(io.Writer) error

// describeRun returns the record of a run without its content: who, when by the clock of the registry, which is the
// same for all hosts, and from what.
func (s *Session) describeRun(t *RegistryDestination, o *MirrorOptions, p *plan.Plan, report *mirror.Report) setrecord.Turn {
	run := setrecord.Turn{
		Name: p.Name, LastRun: t.now().UTC().Truncate(time.Second), Version: strings.TrimPrefix(s.env.UserAgent, "gantry/"),
		From: setrecord.FromConfiguration, Configuration: o.configuration, MaxNestedPaths: t.MaxNestedPaths, Content: contentOf(p),
	}
	run.User, run.Host = setrecord.Visible(s.env.userName()), setrecord.Visible(lockfile.Host())
	switch {
	case len(o.From) > 0:
		run.From, run.Configuration = setrecord.FromArchive, ""
	case o.Plan != "":
		run.From = setrecord.FromPlan
	}
	run.Content.Missing, run.Content.Withheld = len(report.Failed), len(report.Withheld)
	return run
}

// contentOf returns the summary of a plan.
func contentOf(p *plan.Plan) setrecord.Content {
	c := setrecord.Content{
		Catalogs: len(p.Catalogs), Releases: len(p.Releases), Images: len(p.Images), Charts: len(p.Charts), Files: len(p.Files), Bytes: p.Totals.Bytes,
	}
	for i := range p.Catalogs {
		c.Packages += len(p.Catalogs[i].Packages)
	}
	return c
}

// digestOfFile returns the digest of a configuration, "" if it is no regular file that can be read again.
func digestOfFile(name string) digest.Digest {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, _, err := regular.ReadPath(name, maxCompared)
	if err != nil {
		return "" // the run itself reads it, and returns the error
	}
	return digest.FromBytes(text)
}
