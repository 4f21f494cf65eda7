package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/chart/render"
)

// answer answers requests until in ends.
func answer(in io.Reader, out io.Writer, l *limits) error {
	requests, responses := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var r render.Request
		switch err := requests.Decode(&r); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading a request: %w", err)
		}
		l.begin()
		response := respond(&r)
		l.end()
		if err := responses.Encode(response); err != nil {
			return fmt.Errorf("writing a response: %w", err)
		}
	}
}

// respond renders a chart and collects its images.
func respond(r *render.Request) (out *render.Response) {
	out = &render.Response{Version: render.ProtocolVersion}
	fail := func(err error) *render.Response {
		var known *render.Error
		if !errors.As(err, &known) {
			known = &render.Error{Kind: render.ChartError, Message: err.Error()}
		}
		return &render.Response{Version: render.ProtocolVersion, Error: known}
	}
	defer func() { // a chart of others is the input of large libraries
		if p := recover(); p != nil {
			out = fail(fmt.Errorf("rendering stopped: %v", p))
		}
	}()
	if r.Version != render.ProtocolVersion {
		return fail(inputErrorf("the request has version %d, this gantry-helm reads %d: install the gantry-helm that was built with this gantry", r.Version, render.ProtocolVersion))
	}
	paths, err := parsePaths(r.ImagePaths)
	if err != nil {
		return fail(err)
	}
	rendered, err := renderChart(r)
	if err != nil {
		return fail(err)
	}
	found := newFinder(paths, r)
	for _, m := range rendered.manifests {
		if err := found.add(m.name, m.content); err != nil {
			return fail(err)
		}
	}
	out.Images, out.Possible = found.all()
	for _, p := range paths {
		if !p.used {
			found.notes = append(found.notes, fmt.Sprintf("imagePaths: nothing is at %s", p.text))
		}
	}
	out.Notes = slices.Concat(rendered.notes, found.notes)
	if r.Manifests {
		out.Manifests = rendered.text()
	}
	return out
}

// inputErrorf returns an error in what the configuration sets.
func inputErrorf(format string, args ...any) error {
	return &render.Error{Kind: render.InputError, Message: fmt.Sprintf(format, args...)}
}
