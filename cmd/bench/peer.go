package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// processesAtOnce is the number of concurrent processes of a tool that copies one image or one
// repository per process.
const processesAtOnce = 4

// peerNames returns the tools that bench can run, in the order of a round.
func peerNames() []string { return []string{"regsync", "crane", "skopeo", "oras", "regctl"} }

// peer returns a function that makes a tool from the path of its program.
func peer(name string) (func(program string) tool, error) {
	switch name {
	case "regsync":
		return regsync, nil
	case "crane":
		return crane, nil
	case "skopeo":
		return skopeo, nil
	case "oras":
		return oras, nil
	case "regctl":
		return regctl, nil
	}
	return nil, fmt.Errorf("bench does not support the tool %q; it supports %s", name, strings.Join(peerNames(), ", "))
}

func versionArgs(name string) []string {
	if name == "skopeo" {
		return []string{"--version"}
	}
	return []string{"version"}
}

// regsync copies whole repositories with one configuration. Its archive is one OCI layout per
// repository.
func regsync(program string) tool {
	return tool{name: "regsync", commands: func(op operation, t turn) (commands, bool, error) {
		from, to := t.source()+"/", t.destination+"/"
		switch op {
		case copying, again:
		case out, outAgain:
			to = "ocidir://" + t.archive() + "/"
		case in:
			from = "ocidir://" + t.archive() + "/"
		}
		var b strings.Builder
		b.WriteString("version: 1\ncreds:\n")
		for _, host := range []string{t.source(), t.destination} {
			if host != "" {
				fmt.Fprintf(&b, "- {registry: %q, tls: disabled, reqConcurrent: 16}\n", host)
			}
		}
		b.WriteString("defaults: {parallel: 8, digestTags: false, skipDockerConfig: true}\nsync:\n")
		repositories, _ := byRepository(t.workload.items)
		for _, r := range repositories {
			fmt.Fprintf(&b, "- {type: repository, source: %q, target: %q}\n", from+r, to+r)
		}
		config := t.path("regsync.yaml")
		err := os.WriteFile(config, []byte(b.String()), 0o644)
		return commands{run: [][]string{{program, "once", "-v", "warn", "-c", config}}}, true, err
	}}
}

// crane copies all tags of a repository in one process. Its archive is a single OCI layout, which
// it cannot distribute to several repositories.
func crane(program string) tool {
	return tool{name: "crane", layout: true, commands: func(op operation, t turn) (commands, bool, error) {
		repositories, _ := byRepository(t.workload.items)
		c := commands{width: processesAtOnce}
		switch op {
		case copying, again:
			for _, r := range repositories {
				c.run = append(c.run, []string{program, "copy", "--insecure", "--all-tags", "--jobs", "8", t.source() + "/" + r, t.destination + "/" + r})
			}
		case out:
			args := []string{program, "pull", "--insecure", "--format", "oci"}
			for _, i := range t.workload.items {
				args = append(args, fmt.Sprintf("%s/%s@%s", t.source(), i.repository, i.digest))
			}
			c.run = [][]string{append(args, t.archive())}
		case in, outAgain: // it would add everything again
			return c, false, nil
		}
		return c, true, nil
	}}
}

// skopeo copies the images of a list one by one, to repositories named for their last element. Its
// archive is one folder per tag.
func skopeo(program string) tool {
	return tool{name: "skopeo", serial: true, place: lastElement, commands: func(op operation, t turn) (commands, bool, error) {
		sync := []string{program, "--insecure-policy", "sync", "--all", "--preserve-digests", "--src-tls-verify=false", "--dest-tls-verify=false"}
		list := t.path("skopeo.yaml")
		switch op {
		case copying, again:
			sync = append(sync, "--src", "yaml", "--dest", "docker", list, t.destination)
		case out:
			sync = append(sync, "--src", "yaml", "--dest", "dir", list, t.archive())
		case in:
			sync = append(sync, "--src", "dir", "--dest", "docker", t.archive(), t.destination)
		case outAgain: // it refuses folders that exist
			return commands{}, false, nil
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%q:\n  tls-verify: false\n  images:\n", t.source())
		repositories, tags := byRepository(t.workload.items)
		for _, r := range repositories {
			fmt.Fprintf(&b, "    %s:\n", r)
			for _, tag := range tags[r] {
				fmt.Fprintf(&b, "    - %q\n", tag)
			}
		}
		return commands{run: [][]string{sync}}, true, os.WriteFile(list, []byte(b.String()), 0o644)
	}}
}

// oras copies one image per process, from registry to registry. An archive of all images would
// require as many processes that write to one folder.
func oras(program string) tool {
	return perImage("oras", func(from, to string) []string {
		return []string{program, "copy", "--no-tty", "--from-plain-http", "--to-plain-http", "--concurrency", "8", from, to}
	})
}

// regctl is by the authors of regsync and copies one image per process.
func regctl(program string) tool {
	return perImage("regctl", func(from, to string) []string {
		args := []string{program}
		for _, reference := range []string{from, to} {
			host, _, _ := strings.Cut(filepath.ToSlash(reference), "/")
			args = append(args, "--host", "reg="+host+",tls=disabled")
		}
		return append(args, "image", "copy", from, to)
	})
}

func perImage(name string, args func(from, to string) []string) tool {
	return tool{name: name, serial: true, commands: func(op operation, t turn) (commands, bool, error) {
		c := commands{width: processesAtOnce}
		if op != copying && op != again {
			return c, false, nil
		}
		for _, i := range t.workload.items {
			name := "/" + i.repository + ":" + i.tag
			c.run = append(c.run, args(t.source()+name, t.destination+name))
		}
		return c, true, nil
	}}
}
