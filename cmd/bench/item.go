package main

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
)

// The kinds of items that need special treatment.
const (
	catalogKind   = "catalog"
	signatureKind = "sig"
)

// An item is a tag of a workload. A list of items has one line for each, with the repository, the
// digest, the tag and the kind, separated by tabs.
type item struct {
	repository string
	digest     digest.Digest
	tag, kind  string
}

func readItems(r io.Reader) ([]item, error) {
	var items []item
	s := bufio.NewScanner(r)
	for s.Scan() {
		f := strings.Split(s.Text(), "\t")
		if len(f) < 4 {
			return nil, fmt.Errorf("line %d of the list has %d fields, want 4", len(items)+1, len(f))
		}
		d, err := digest.Parse(f[1])
		if err != nil {
			return nil, fmt.Errorf("line %d of the list: %w", len(items)+1, err)
		}
		items = append(items, item{f[0], d, f[2], f[3]})
	}
	return items, s.Err()
}

// byRepository returns the repositories, sorted, and the tags of each.
func byRepository(items []item) (repositories []string, tags map[string][]string) {
	tags = map[string][]string{}
	for _, i := range items {
		if tags[i.repository] == nil {
			repositories = append(repositories, i.repository)
		}
		tags[i.repository] = append(tags[i.repository], i.tag)
	}
	slices.Sort(repositories)
	return repositories, tags
}

// lastElement returns the destination repository of tools that keep only the last element of the
// name.
func lastElement(repository string) string { return path.Base(repository) }
