package catalogserver

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gantry-mirror/gantry/pkg/catalogserver/api"
)

// edge returns one update edge into an entry.
func edge(to channelEntry, from string) *api.ChannelEntry {
	return &api.ChannelEntry{PackageName: to.pkg.Name, ChannelName: to.channel.Name, BundleName: to.entry.Name, Replaces: from}
}

// edges returns the update edges into an entry from replaces and skips. With inChannel, it leaves out
// skips that the channel does not have.
func edges(to channelEntry, inChannel bool) []*api.ChannelEntry {
	list := []*api.ChannelEntry{edge(to, to.entry.Replaces)}
	for _, name := range to.entry.Skips {
		if _, ok := to.channel.entries[name]; name != to.entry.Replaces && (ok || !inChannel) {
			list = append(list, edge(to, name))
		}
	}
	return list
}

// sendAll sends edges, or returns notFound if there are none.
func sendAll(stream grpc.ServerStreamingServer[api.ChannelEntry], list []*api.ChannelEntry, notFound error) error {
	if len(list) == 0 {
		return notFound
	}
	for _, m := range list {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}

// GetChannelEntriesThatReplace implements api.RegistryServer.
func (r *registry) GetChannelEntriesThatReplace(req *api.GetAllReplacementsRequest, stream grpc.ServerStreamingServer[api.ChannelEntry]) error {
	name := req.GetCsvName()
	var list []*api.ChannelEntry
	for _, p := range r.packages {
		for _, c := range p.sorted {
			for _, e := range c.sorted {
				if name != "" && e.replaces(name) {
					list = append(list, edge(e, e.entry.Replaces))
				}
			}
		}
	}
	return sendAll(stream, list, status.Errorf(codes.NotFound, "no channel entries found that replace %s", name))
}

// An apiRequest is a request for the providers of an API.
type apiRequest interface {
	GetGroup() string
	GetVersion() string
	GetKind() string
}

func requestedAPI(req apiRequest) gvk {
	return gvk{Group: req.GetGroup(), Version: req.GetVersion(), Kind: req.GetKind()}
}

// noProvider is the error if no bundle provides an API.
func noProvider(a gvk) error {
	return status.Errorf(codes.NotFound, "no channel entries found that provide group:%q version:%q kind:%q", a.Group, a.Version, a.Kind)
}

// GetChannelEntriesThatProvide implements api.RegistryServer.
func (r *registry) GetChannelEntriesThatProvide(req *api.GetAllProvidersRequest, stream grpc.ServerStreamingServer[api.ChannelEntry]) error {
	wanted := requestedAPI(req)
	var list []*api.ChannelEntry
	for _, e := range r.providers[wanted] {
		list = append(list, edges(e, false)...)
	}
	return sendAll(stream, list, noProvider(wanted))
}

// GetLatestChannelEntriesThatProvide implements api.RegistryServer: it sends heads only.
func (r *registry) GetLatestChannelEntriesThatProvide(req *api.GetLatestProvidersRequest, stream grpc.ServerStreamingServer[api.ChannelEntry]) error {
	wanted := requestedAPI(req)
	var list []*api.ChannelEntry
	for _, e := range r.providers[wanted] {
		if e.entry.Name == e.channel.head {
			list = append(list, edges(e, true)...)
		}
	}
	return sendAll(stream, list, noProvider(wanted))
}

// GetDefaultBundleThatProvides implements api.RegistryServer: it returns the head of the default channel
// of the first package by name that provides the API there.
func (r *registry) GetDefaultBundleThatProvides(_ context.Context, req *api.GetDefaultProviderRequest) (*api.Bundle, error) {
	wanted := requestedAPI(req)
	for _, e := range r.providers[wanted] {
		if e.entry.Name == e.channel.head && e.channel.Name == e.pkg.DefaultChannel {
			return single(e)
		}
	}
	return nil, noProvider(wanted)
}
