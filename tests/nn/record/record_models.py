"""Records bags, and small bert, llama, convnext, efficientnet and mixer of Hugging Face, torchvision
and timm: logits for weights under their own names.

    python tests/nn/record/record_models.py
"""

import torch
import torch.nn.functional as F
from torch import nn

from torch_cases import Cases


def bags():
    c = Cases("bags", 8)
    ids = torch.tensor([[1, 3, 3], [6, 2, 0], [0, 0, 5], [0, 0, 0]])
    for mode in ["sum", "mean", "max"]:
        c.module(mode, nn.EmbeddingBag(7, 4, mode=mode), [ids[:3]])
        padded = nn.EmbeddingBag(7, 4, mode=mode, padding_idx=0)
        c.module(f"{mode}_padded", padded, [ids])
    weighed = nn.EmbeddingBag(7, 4, mode="sum").double()
    c.module("weights", weighed, [ids[:3], c.normal(3, 3)],
             lambda i, w: weighed(i, per_sample_weights=w))
    c.module("one", nn.EmbeddingBag(1, 1, mode="max"), [torch.zeros(1, 1, dtype=torch.int64)])
    c.save()


def language():
    from transformers import BertConfig, BertForMaskedLM, LlamaConfig, LlamaForCausalLM
    c = Cases("language_models", 9)
    llama = LlamaForCausalLM(LlamaConfig(
        vocab_size=29, hidden_size=24, intermediate_size=20, num_hidden_layers=2,
        num_attention_heads=6, num_key_value_heads=2, max_position_embeddings=16,
        rms_norm_eps=1e-5, rope_theta=10000.0, attn_implementation="eager")).double()
    c.module("llama", llama, [c.ints(29, 2, 9)], lambda x: llama(x).logits)
    bert = BertForMaskedLM(BertConfig(
        vocab_size=29, hidden_size=24, intermediate_size=20, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=16, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, attn_implementation="eager")).double()
    # The decoder's weight and bias are those of the embedding and of cls.predictions.
    names = lambda n: None if "decoder" in n or "position_ids" in n or "token_type_ids" in n else n
    ids = c.ints(29, 2, 9)
    mask = torch.tensor([[True] * 9, [True] * 5 + [False] * 4])
    kinds = c.ints(2, 2, 9)
    c.module("bert", bert, [ids, mask, kinds],
             lambda x, m, k: bert(x, attention_mask=m.long(), token_type_ids=k).logits, names)
    c.save()


def vision():
    import torchvision
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt
    c = Cases("vision_models", 10)
    convnext = ConvNeXt([CNBlockConfig(8, 12, 2), CNBlockConfig(12, None, 1)], num_classes=5).eval()
    c.module("convnext", convnext, [c.normal(2, 3, 16, 16)])
    c.save()
    # Names and shapes of the whole ones.
    for name, model in [("efficientnet_b0", torchvision.models.efficientnet_b0()),
                        ("convnext_t", torchvision.models.convnext_tiny())]:
        print(name, sum(p.numel() for p in model.parameters()))
        for key, value in list(model.state_dict().items())[::40]:
            print("  ", key, tuple(value.shape))


bags()
language()
vision()
