package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// update reads the lists of packages of Debian suites into a folder of the corpus, so that the
// machine's own configuration and lists stay as they are. The addresses are those of the machine's
// configuration: the archive of its own suite, and that suite's security updates.
func (d *downloads) update(ctx context.Context, suites []string) error {
	if d.updates == nil {
		d.updates = map[string]bool{}
	}
	missing := len(d.apt) == 0
	for _, s := range suites {
		missing = missing || !d.updates[s]
		d.updates[s] = true
	}
	if !missing {
		return nil
	}
	site, security, err := aptSites(ctx)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(filepath.Join(d.dir, "apt"))
	if err != nil {
		return err
	}
	for _, sub := range []string{"state/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	var list strings.Builder
	for suite := range d.updates {
		from := site
		if strings.HasSuffix(suite, "-security") {
			from = security
		}
		fmt.Fprintf(&list, "deb %s %s main\n", from, suite)
	}
	if err := os.WriteFile(filepath.Join(dir, "sources.list"), []byte(list.String()), 0o644); err != nil {
		return err
	}
	d.apt = []string{
		"-q", "-o", "Dir::State=" + dir + "/state", "-o", "Dir::State::status=/dev/null", "-o", "Dir::Cache=" + dir + "/cache",
		"-o", "Dir::Etc::sourcelist=" + dir + "/sources.list", "-o", "Dir::Etc::sourceparts=-",
		"-o", "Acquire::Languages=none", "-o", "APT::Sandbox::User=root",
	}
	_, err = output(ctx, dir, nil, "apt-get", append(d.apt[:len(d.apt):len(d.apt)], "update")...)
	return err
}

// aptSites returns the addresses of the archives that apt-get of this machine uses, for releases and
// for security updates. The keys are those that apt trusts for every source.
func aptSites(ctx context.Context) (site, security string, err error) {
	out, err := output(ctx, os.TempDir(), nil, "apt-get", "indextargets", "--format", "$(ORIGIN)|$(SITE)|$(RELEASE)")
	if err != nil {
		return "", "", err
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 3 || f[0] != "Debian" {
			continue
		}
		if strings.HasSuffix(f[2], "-security") {
			security = f[1]
		} else {
			site = f[1]
		}
	}
	if site == "" || security == "" {
		return "", "", errors.New("apt-get has no sources of Debian and its security updates; add them to /etc/apt and run apt-get update")
	}
	return site, security, nil
}
