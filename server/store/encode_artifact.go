package store

import (
	storagev1 "github.com/beckon-dev/beckon/proto/gen/beckon/storage/v1"
)

// artifactCodec stores that bytes are kept.
type artifactCodec struct{}

func (artifactCodec) encode(v Artifact) ([]byte, error) { return marshal(packArtifact(v)) }
func (artifactCodec) decode(b []byte) (Artifact, error) { return unmarshal(b, unpackArtifact) }

// artifactRefCodec stores that a task has an artifact.
type artifactRefCodec struct{}

func (artifactRefCodec) encode(v ArtifactRef) ([]byte, error) { return marshal(packArtifactRef(v)) }
func (artifactRefCodec) decode(b []byte) (ArtifactRef, error) { return unmarshal(b, unpackArtifactRef) }

func packArtifact(a Artifact) *storagev1.Artifact {
	return &storagev1.Artifact{
		Size: a.Size, State: uint32(a.State), CreateTime: micros(a.CreateTime), LooseTime: micros(a.LooseTime),
	}
}

func unpackArtifact(m *storagev1.Artifact, r *reading) Artifact {
	return Artifact{
		Size: m.GetSize(), State: number[ArtifactState](r, "state", m.GetState()),
		CreateTime: moment(m.GetCreateTime()), LooseTime: moment(m.GetLooseTime()),
	}
}

func packArtifactRef(a ArtifactRef) *storagev1.ArtifactRef {
	return &storagev1.ArtifactRef{
		Sha256: from32(a.Sum), Task: a.Task, Name: a.Name, MediaType: a.MediaType, CreateTime: micros(a.CreateTime),
	}
}

func unpackArtifactRef(m *storagev1.ArtifactRef, r *reading) ArtifactRef {
	return ArtifactRef{
		Sum: bytes32[Sum](r, "sha256", m.GetSha256()), Task: m.GetTask(),
		Name: m.GetName(), MediaType: m.GetMediaType(), CreateTime: moment(m.GetCreateTime()),
	}
}
