// Package build makes the plan of a configuration.
//
// An ImageSetConfiguration and Sources go in, a plan.Plan comes out. Planning is a pipeline. Each
// stage returns a new value that the next one reads:
//
//	configuration -> platform releases      chosen from update graphs, verified, with graph data
//	              -> selected catalogs      read and filtered (Select), with dependencies; also those
//	                                        that olm.catalogImageTemplate names for these releases
//	              -> Helm charts            selected, read, stored as artifacts, rendered
//	              -> image requests         all that catalogs, releases, charts and lists name, less what is blocked
//	              -> resolved images        tags resolved to digests, manifests read into one graph
//	              -> smaller indexes        instead of indexes without some platforms, if requested
//	              -> converted images       with the media types of Options.Format, if it is set
//	              -> catalog images         built, or those of the source
//	              -> targets                repository and tag of each image
//	              -> attachments            signatures and other referrers, in the same repositories
//	              -> plan.Plan              images, manifests, blobs, notes
//
// The same input gives the same plan, byte by byte. The package reads through interfaces that it
// declares (Files, Store, ReleaseSource, ChartRepositories, ChartRenderer, Downloads) and image.Reader; it uses neither network nor disk itself.
// Reduce, RebuildCatalog and RebuildGraphData repeat parts of the pipeline for a plan that exists.
package build

import (
	"context"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// Plan makes the plan of a configuration: it reads, filters, validates and builds the catalogs, collects the images that they,
// the releases and the lists of the configuration name, and reads the manifests of all images. name is the name of the plan.
//
// It is an error if a catalog or release cannot be read, breaks OLM's rules or does not have what the configuration asks for.
// An image that cannot be read is not an error: the plan lists it as Missing. If no image at all can be read, the first reason
// is the error.
func Plan(ctx context.Context, cfg *imageset.Config, name string, sources Sources, opts Options) (*plan.Plan, error) {
	opts, sources = opts.withDefaults(), sources.withTagCache()
	opts.Packages = nil

	graph := newManifestGraph(sources.Images)
	graph.format = opts.Format
	releases, err := readReleases(ctx, cfg.Mirror, graph.recording(sources), opts)
	if err != nil {
		return nil, err
	}
	variants, err := catalogVariants(ctx, cfg.Mirror.Operators, kubernetesVersions(releases.payloads, opts.Clusters), sources)
	if err != nil {
		return nil, err
	}
	catalogs, err := selectCatalogs(ctx, sources, slices.Concat(cfg.Mirror.Operators, variants.operators), opts)
	if err != nil {
		return nil, err
	}
	catalogs.markVariants(variants)
	if err := catalogs.findUnlisted(ctx, graph.recording(sources), opts); err != nil {
		return nil, err
	}
	listed, err := listImages(ctx, cfg.Mirror.AdditionalImages, graph.recording(sources), opts)
	if err != nil {
		return nil, err
	}
	if opts.TakeImages {
		cfg.Mirror.AdditionalImages = nil
	}
	charts, err := readCharts(ctx, cfg.Mirror.Helm, graph.recording(sources), opts)
	if err != nil {
		return nil, err
	}
	files, err := readFiles(ctx, cfg.Mirror.Files, sources, opts)
	if err != nil {
		return nil, err
	}
	bootMissing, bootNotes, err := releases.addBootFiles(ctx, &files, sources)
	if err != nil {
		return nil, err
	}
	if err := refuseArtifacts(opts.Format, charts, files); err != nil {
		return nil, err
	}
	requests, err := requestImages(cfg.Mirror, catalogs.all, releases, charts, listed.images)
	if err != nil {
		return nil, err
	}
	listed.images = nil // here and below: what no stage needs again would take much memory
	found, err := graph.resolveAll(ctx, slices.Concat(charts.requests, files.requests, requests.all), opts)
	if err != nil {
		return nil, err
	}
	requests.all = nil
	if err := inputProblems(found); err != nil {
		return nil, err
	}
	if err := missYoung(ctx, found, sources, opts); err != nil {
		return nil, err
	}
	smaller, err := graph.rewriteIndexes(ctx, found, sources, opts)
	if err != nil {
		return nil, err
	}
	if err := graph.convertImages(ctx, smaller.images, sources, opts); err != nil {
		return nil, err
	}
	if err := catalogs.rewriteBundles(replacedDigests(smaller.images)); err != nil {
		return nil, err
	}
	catalogImages, err := catalogs.buildImages(ctx, sources, opts.Format)
	if err != nil {
		return nil, err
	}
	builtImages, err := graph.resolveAll(ctx, catalogImages.requests, opts.withoutProgress())
	if err != nil {
		return nil, err
	}
	sources.Images = localImages{sources.uncached} // no tag is read again
	graph.images = sources.Images
	if err := graph.convertImages(ctx, builtImages, sources, opts); err != nil {
		return nil, err
	}
	catalogImages.converted(builtImages)
	smallerNotes := smaller.notes(cfg.Mirror)
	all := slices.Concat(builtImages, smaller.images)
	convertedNotes, lost := notesOnConverted(all, opts.Format)
	if lost != "" {
		opts.Warn(lost)
	}
	available, missing, err := splitMissing(all)
	if err != nil {
		return nil, err
	}
	missing = slices.Concat(missing, charts.missing, files.missing)
	if len(available) == len(catalogImages.requests)+len(charts.requests)+releases.imageCount() && len(missing) > 0 {
		return nil, noneAvailable(missing)
	}
	images, targetNotes, err := assignTargets(available)
	if err != nil {
		return nil, err
	}
	attached, err := attach(ctx, graph, images, catalogImages.catalogs, releases.payloads, cfg.Mirror, sources, opts)
	if err != nil {
		return nil, err
	}
	content, err := graph.content(attached.images)
	if err != nil {
		return nil, err
	}
	updates, blockerNotes := withBlockers(releases.updates, catalogs.all)
	planned, unlistedNotes := withUnlisted(withTargets(catalogImages.catalogs, content.images), catalogs.all, content.images)
	p := &plan.Plan{
		Kind: plan.Kind, Version: plan.Version, Name: name, ArchiveSize: cfg.ArchiveSize, Format: opts.Format,
		Catalogs: planned,
		Releases: releases.entries(), Updates: updates, UpdateGraphs: releases.graphs, GraphData: releases.graphData, Charts: charts.charts, Files: files.files,
		TagRules: listed.rules, Images: content.images, Missing: slices.Concat(missing, bootMissing, attached.missing), Blocked: slices.Concat(requests.blocked, attached.blocked),
		Manifests: content.manifests, Blobs: content.blobs,
		Notes: sortedNotes(charts.notes, bootNotes, variants.notes, catalogs.notes, catalogImages.notes, releases.notes, listed.notes, requests.notes, attached.notes, targetNotes, content.notes, blockerNotes, unlistedNotes, smallerNotes, convertedNotes),
	}
	p.Totals = p.Count()
	return p, p.Check()
}

// splitMissing separates the images that were found, at the beginning of the list, from those that are missing. A catalog,
// release or graph data image that is missing is an error.
func splitMissing(all []resolvedImage) (available []resolvedImage, missing []plan.Missing, err error) {
	available = all[:0]
	for _, r := range all {
		switch {
		case r.err == nil:
			available = append(available, r)
		case r.request.kind == plan.CatalogImage || r.request.kind == plan.ReleaseImage || r.request.kind == plan.GraphImage || r.request.kind == plan.ChartImage || r.request.kind == plan.FileImage:
			what := plan.SourceText(r.request.source)
			if r.request.kind != plan.FileImage {
				what = string(r.request.kind) + " image " + what
			}
			return nil, nil, fmt.Errorf("reading %s: %w", what, r.err)
		default:
			missing = append(missing, plan.NewMissing(r.request.source, r.request.kind, r.err, r.request.reasons))
		}
	}
	return available, missing, nil
}

// withTargets returns the catalogs with repository and tag of their images.
func withTargets(catalogs []plan.Catalog, images []plan.Image) []plan.Catalog {
	all := slices.Clone(catalogs)
	for i := range all {
		for _, img := range images {
			if img.Catalog == all[i].Name() {
				all[i].Repository, all[i].Tag = img.Repository, img.Tags[0]
			}
		}
	}
	return all
}

// maxListed is the number of items that shortList lists.
const maxListed = 5
