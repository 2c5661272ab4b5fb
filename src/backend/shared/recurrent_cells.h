// Cells of recurrent layers and their gradients (ops/recurrent_cells.h).

namespace plimsoll::PLIMSOLL_BACKEND {
namespace {

/// dy by what went into a sigmoid, or a tanh, that gave y.
template <typename T>
PLIMSOLL_INLINE T through_sigmoid(T dy, T y) {
  return dy * (y * (T{1} - y));
}
template <typename T>
PLIMSOLL_INLINE T through_tanh(T dy, T y) {
  return dy * (T{1} - y * y);
}

/// Of x, s and c: h, c and the gates.
struct LstmCell {
  static constexpr const char* kName = "lstm_cell";
  static constexpr std::array kIn = {4, 4, 1};
  static constexpr std::array kOut = {1, 1, 4};
  template <typename T>
  PLIMSOLL_INLINE static Parts<T, 6> apply(T x_input, T x_forget, T x_cell, T x_output, T s_input,
                                           T s_forget, T s_cell, T s_output, T c) {
    const T input = sigmoid_of(x_input + s_input);
    const T forget = sigmoid_of(x_forget + s_forget);
    const T cell = tanh_of(x_cell + s_cell);
    const T output = sigmoid_of(x_output + s_output);
    const T after = forget * c + input * cell;
    return {output * tanh_of(after), after, input, forget, cell, output};
  }
};

/// Of the gates, c, dh and dc: the gradients by x (and s) and by c.
struct LstmCellGrad {
  static constexpr const char* kName = "lstm_cell_grad";
  static constexpr std::array kIn = {4, 1, 1, 1};
  static constexpr std::array kOut = {4, 1};
  template <typename T>
  PLIMSOLL_INLINE static Parts<T, 5> apply(T input, T forget, T cell, T output, T c, T dh, T dc) {
    const T t = tanh_of(forget * c + input * cell);
    const T d = dc + through_tanh(dh * output, t);
    return {through_sigmoid(d * cell, input), through_sigmoid(d * c, forget),
            through_tanh(d * input, cell), through_sigmoid(dh * t, output), d * forget};
  }
};

/// Of x, s and h: h, then the gates and s's part of the last.
struct GruCell {
  static constexpr const char* kName = "gru_cell";
  static constexpr std::array kIn = {3, 3, 1};
  static constexpr std::array kOut = {1, 4};
  template <typename T>
  PLIMSOLL_INLINE static Parts<T, 5> apply(T x_reset, T x_update, T x_fresh, T s_reset, T s_update,
                                           T s_fresh, T h) {
    const T reset = sigmoid_of(x_reset + s_reset);
    const T update = sigmoid_of(x_update + s_update);
    const T fresh = tanh_of(x_fresh + reset * s_fresh);
    return {fresh + update * (h - fresh), reset, update, fresh, s_fresh};
  }
};

/// Of those gates, h and dh: the gradients by x, s and h.
struct GruCellGrad {
  static constexpr const char* kName = "gru_cell_grad";
  static constexpr std::array kIn = {4, 1, 1};
  static constexpr std::array kOut = {3, 3, 1};
  template <typename T>
  PLIMSOLL_INLINE static Parts<T, 7> apply(T reset, T update, T fresh, T s_fresh, T h, T dh) {
    const T d_fresh = through_tanh(dh * (T{1} - update), fresh);
    const T d_reset = through_sigmoid(d_fresh * s_fresh, reset);
    const T d_update = through_sigmoid(dh * (h - fresh), update);
    return {d_reset, d_update, d_fresh, d_reset, d_update, d_fresh * reset, dh * update};
  }
};

void add_kernels(KernelTable& table) {
  table.add("lstm_cell", in_parts<LstmCell>());
  table.add("lstm_cell_grad", in_parts<LstmCellGrad>());
  table.add("gru_cell", in_parts<GruCell>());
  table.add("gru_cell_grad", in_parts<GruCellGrad>());
}

const RegisterKernels kRegistered(kBackend, add_kernels);

}  // namespace
}  // namespace plimsoll::PLIMSOLL_BACKEND
